"""Oddities of real files: instancing, shared nodes, layers in archives, left-handed meshes, robots' meshes in other units."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

from tests.io.scene_files.make import make
from tests.io.test_scene_formats import box_tree, corners, glb, loaded
from thud.errors import SceneFileError, SceneReferenceError
from thud.io import load_scene
from thud.io.scene.child import Readers


@pytest.fixture(scope="module")
def readers():
    with Readers() as process:
        yield process


def test_gltf_gpu_instancing(tmp_path, readers):
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4")
    moves = np.array([[5, 0, 0], [6, 0, 0]], dtype="<f4")
    tree = {
        "extensionsRequired": ["EXT_mesh_gpu_instancing"],
        "nodes": [{"name": "many", "mesh": 0, "extensions": {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 1}}}}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5126, "count": 2, "type": "VEC3"},
        ],
        "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 24}],
    }
    scene = loaded(glb(tree, points.tobytes() + moves.tobytes()), tmp_path, readers)
    assert scene.names == ("many/many 1", "many/many 2")
    assert [part.pose.position[0] for part in scene] == [5.0, 6.0]
    assert len(scene.meshes) == 1


def test_gltf_quantised(tmp_path, readers):
    points = np.array([[0, 0, 0, 0], [127, 0, 0, 0], [0, -128, 0, 0]], dtype="i1")
    tree = {
        "extensionsRequired": ["KHR_mesh_quantization"],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5120, "normalized": True, "count": 3, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 12, "byteStride": 4}],
    }
    low, high = loaded(glb(tree, points.tobytes()), tmp_path, readers).bounds()
    np.testing.assert_allclose([low, high], [(0, 0, -1), (1, 0, 0)], atol=1e-12)


def test_gltf_flat_part_and_file_of_one_name(tmp_path, readers):
    data = box_tree(
        [{"mesh": 0, "scale": [0, 1, 1], "name": "flat"}, {"mesh": 0, "scale": [1e-30] * 3, "name": "tiny"}, {"mesh": 0}]
    )
    scene = loaded(data, tmp_path, readers)
    assert scene.names == ("flat", "node 2")
    assert {(note.part, note.severity) for note in scene.notes} >= {("flat", "left"), ("tiny", "skipped")}
    again = load_scene([make("glb", tmp_path / "a"), make("glb", tmp_path / "b")], readers=readers)
    assert {part.parent for part in again} == {"assembly", "assembly#2"}


def test_parts_without_triangles_are_told(tmp_path, readers):
    # They were left out without a word.
    solid = {"attributes": {"POSITION": 0}, "indices": 1}
    meshes = [
        {"primitives": [solid]},
        {"primitives": [], "name": "bare"},
        {"primitives": [{"attributes": {"POSITION": 0}, "mode": 1}]},
    ]
    scene = loaded(box_tree([{"mesh": 0}, {"mesh": 1}, {"mesh": 2}], meshes=meshes), tmp_path, readers)
    assert len(scene) == 1
    told = [note.text for note in scene.notes if note.severity == "skipped" and "no triangles" in note.text]
    assert len(told) == 2
    assert "'bare'" in told[0]


DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="cm" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g" name="arrow"><mesh>
<source id="p"><float_array id="pa" count="15">0 2 0 -1 1 0 0 0 0 1 1 0 0 4 0</float_array>
<technique_common><accessor source="#pa" count="5" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist count="1"><input semantic="VERTEX" source="#v" offset="0"/><vcount>5</vcount><p>0 1 2 3 4</p></polylist>
</mesh></geometry></library_geometries>
<library_nodes><node id="shared" name="shared"><translate>10 0 0</translate><instance_geometry url="#g"/></node></library_nodes>
<library_visual_scenes><visual_scene id="s"><node id="one" name="one"><instance_node url="#shared"/></node>
<node id="two" name="two"><translate>0 100 0</translate><instance_node url="#shared"/></node></visual_scene>
</library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_dae_shared_nodes_units_axes_and_concave_polygons(tmp_path, readers):
    scene = loaded(DAE, tmp_path, readers, "a.dae")
    assert scene.names == ("one/shared", "two/shared")
    assert len(scene.meshes) == 1
    assert scene.units == "centimetre (from the file)"
    np.testing.assert_allclose(scene.parts[1].pose.position, (0.1, 0.0, 1.0), atol=1e-12)
    mesh = scene.meshes[0]
    a, b, c = (np.asarray(mesh.vertices)[np.asarray(mesh.faces)[:, k]] for k in range(3))
    # By the shoelace formula, not by a fan from the first corner, which leaves the polygon.
    ring = np.array([(0, 2), (-1, 1), (0, 0), (1, 1), (0, 4)])
    x, y = ring.T
    want = 1e-4 * 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    assert 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() == pytest.approx(want)


def test_usd_layers_in_the_folder_and_left_handed(tmp_path, readers):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "part.usda").write_text(
        '#usda 1.0\n(defaultPrim = "m")\ndef Mesh "m" {\n uniform token orientation = "leftHanded"\n'
        " point3f[] points = [(0,0,0), (1,0,0), (0,1,0), (0,0,1)]\n int[] faceVertexCounts = [3,3,3,3]\n"
        " int[] faceVertexIndices = [0,1,2, 0,3,1, 1,3,2, 0,2,3]\n}\n"
    )
    top = (
        '#usda 1.0\n(metersPerUnit = 1\nupAxis = "Z")\ndef "a" (references = @./sub/part.usda@) {\n'
        ' double3 xformOp:scale = (-1, 1, 1)\n uniform token[] xformOpOrder = ["xformOp:scale"]\n}\n'
        'def "b" (payload = @sub/part.usda@</m>) {}\n'
    )
    scene = loaded(top, tmp_path, readers, "a.usda")
    assert scene.names == ("a", "b")
    assert scene.notes == ()
    assert [scene.mesh_of(part).volume for part in scene] == pytest.approx([1 / 6, 1 / 6])
    assert not any(mesh.problems().inverted for mesh in scene.meshes)
    low, _ = corners(scene, scene.parts[0])
    assert low[0] == pytest.approx(-1.0)


def test_usdz_members(tmp_path, readers):
    def package(name, layers, compression=zipfile.ZIP_STORED):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", compression) as archive:
            for inner, text in layers.items():
                # Data begins at a multiple of 64 bytes, as the format wants it.
                info = zipfile.ZipInfo(inner)
                info.compress_type = compression
                begin = archive.fp.tell() + 30 + len(inner)
                gap = (-(begin + 4)) % 64
                info.extra = b"\x86\x19" + gap.to_bytes(2, "little") + bytes(gap)
                archive.writestr(info, text)
        return path

    cube = '#usda 1.0\ndef Cube "c" {}\n'
    good = {"root.usda": '#usda 1.0\ndef "a" (references = @sub/part.usda@</c>) {}\n', "sub/part.usda": cube}
    assert len(load_scene(package("good.usdz", good), readers=readers)) == 1
    # The layer that the root names leads out of the archive.
    (tmp_path / "out.usda").write_text(cube)
    bad = good | {"sub/part.usda": f'#usda 1.0\ndef "c" (references = @{tmp_path}/out.usda@</c>) {{}}\n'}
    with pytest.raises(SceneReferenceError, match="outside the archive"):
        load_scene(package("bad.usdz", bad), readers=readers)
    with pytest.raises(SceneFileError, match="compressed"):
        load_scene(package("packed.usdz", good, zipfile.ZIP_DEFLATED), readers=readers)


def test_urdf_meshes_of_packages_and_dae_units(tmp_path, readers):
    package = tmp_path / "my_robot"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "meshes" / "arrow.dae").write_text(DAE)
    mesh = '<mesh filename="{}" scale="2 2 2"/>'
    text = f'<robot name="r"><link name="a"><visual><geometry>{mesh}</geometry></visual></link></robot>'
    for name in ("package://my_robot/meshes/arrow.dae", "../meshes/arrow.dae"):
        path = package / "urdf" / "r.urdf"
        path.write_text(text.format(name))
        with pytest.raises(SceneReferenceError, match="root="):
            load_scene(path, readers=readers)
        scene = load_scene(path, root=package, readers=readers)
        assert scene.names == ("r/a/shared", "r/a/shared#2")
        # Centimetres of the mesh file, then its scale; the mesh's own axes stay as they are.
        low, high = corners(scene, scene.parts[1])
        np.testing.assert_allclose([low, high], [(0.18, 2.0, 0), (0.22, 2.08, 0)], atol=1e-12)


def test_ifc_door_stands_where_its_wall_stands(tmp_path, readers):
    import ifcopenshell
    import ifcopenshell.api.feature
    import ifcopenshell.api.geometry
    import ifcopenshell.api.root

    api, path = ifcopenshell.api, make("ifc", tmp_path)
    model = ifcopenshell.open(str(path))
    body = next(c for c in model.by_type("IfcGeometricRepresentationSubContext") if c.ContextIdentifier == "Body")
    made = []
    for kind in ("IfcOpeningElement", "IfcDoor"):
        made.append(api.root.create_entity(model, ifc_class=kind, name=kind))
        shape = api.geometry.add_wall_representation(model, context=body, length=0.05, height=0.2, thickness=0.05)
        api.geometry.assign_representation(model, product=made[-1], representation=shape)
        api.geometry.edit_object_placement(model, product=made[-1])
    api.feature.add_feature(model, feature=made[0], element=model.by_type("IfcWall")[0])
    api.feature.add_filling(model, opening=made[0], element=made[1])
    model.write(str(path))
    scene = load_scene(path, readers=readers)
    assert {part.name: part.kind for part in scene}["project/assembly/IfcDoor"] == "IfcDoor"
    assert len(scene) == 4


def test_pipes_and_interrupts(tmp_path):
    if not hasattr(os, "mkfifo"):
        return
    os.mkfifo(tmp_path / "a.stl")
    with pytest.raises(SceneFileError, match="neither a file"):
        load_scene(tmp_path / "a.stl")
    # A read that is interrupted leaves no process behind.
    lines = "".join(f"v {k} {k % 7} {k % 11}\n" for k in range(300_000)) + "".join(
        f"f {k} {k + 1} {k + 2}\n" for k in range(1, 299_000)
    )
    (tmp_path / "big.obj").write_text(lines * 1)
    code = (
        "import sys, thud.io\nfrom thud.io.scene import child\nold = child.Readers._line\n"
        "def line(self, seconds):\n    print(self._process.pid, flush=True)\n    return old(self, seconds)\n"
        f"child.Readers._line = line\nthud.io.load_scene({str(tmp_path / 'big.obj')!r})\n"
    )
    # A shell starts what runs in its background with interrupts ignored.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + code
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    group = int(run.stdout.readline())
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) != 0
    run.stdout.close()
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("processes of an interrupted read are still there")
