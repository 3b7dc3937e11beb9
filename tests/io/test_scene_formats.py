"""Files of every format give the same assembly, and the oddities of real files are read as they are meant."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import thud
from tests.io.scene_files.make import BOLT, FORMATS, PLACES, PLATE, make, moved
from tests.io.scene_files.step_text import step_text
from thud.errors import SceneFileError
from thud.io import load_scene
from thud.io.scene.child import Readers


@pytest.fixture(scope="module")
def readers():
    with Readers() as process:
        yield process


def corners(scene, part):
    """Lower and upper corner of a part in the scene."""
    points = part.pose.apply(scene.mesh_of(part).vertices)
    return points.min(axis=0), points.max(axis=0)


def by_last_name(scene):
    return {part.name.replace("_", " ").removesuffix("/box").rpartition("/")[2]: part for part in scene}


@pytest.mark.parametrize("ending", FORMATS)
def test_assembly(ending, tmp_path, readers):
    scene = load_scene(make(ending, tmp_path), readers=readers)
    assert scene.triangle_count == 36
    assert all(mesh.is_closed and mesh.volume > 0.0 for mesh in scene.meshes)
    if ending in ("stl", "ply"):
        # One soup of all.
        assert len(scene) == 1
        low, high = corners(scene, scene.parts[0])
        np.testing.assert_allclose([low, high], [(-0.2, -0.1, -0.02), (0.2, 0.1, 0.08)], atol=1e-6)
        return
    assert len(scene) == 3
    # Only OBJ knows no instances.
    assert len(scene.meshes) == (3 if ending == "obj" else 2)
    parts = dict(zip(PLACES, scene)) if ending == "obj" else by_last_name(scene)
    for name, place in PLACES.items():
        low, high = corners(scene, parts[name])
        np.testing.assert_allclose(0.5 * (low + high), place, atol=1e-6)
        np.testing.assert_allclose(high - low, PLATE if name == "plate" else BOLT, atol=1e-6)
        assert parts[name].source == f"assembly.{ending}"
    assert scene.units.startswith("millimetre" if ending in ("3mf", "dae", "step", "ifc", "usda", "usdc", "usdz") else "metre")
    assert ("assumed" in scene.units) == (ending == "obj")
    if ending in ("dae", "step", "ifc", "usda", "usdc", "usdz", "urdf"):
        assert all(part.parent.split("/")[0] in ("assembly", "project") for part in scene)
    assert (scene.robot is not None) == (ending == "urdf")
    if ending == "ifc":
        assert all(len(part.guid) == 22 and part.kind == "IfcWall" for part in scene)


def test_units_and_up_override(tmp_path, readers):
    path = make("stl", tmp_path)
    scene = load_scene(path, units="mm", readers=readers)
    low, high = corners(scene, scene.parts[0])
    np.testing.assert_allclose(high - low, (0.0004, 0.0002, 0.0001), rtol=1e-5)
    assert scene.units == "millimetre (as told)"
    assert "assumed" not in {note.severity for note in scene.notes}
    # In one soup, the bolts pierce the plate.
    assert any("cross" in note.text for note in scene.notes)
    low, high = corners(scene := load_scene(path, up="y", readers=readers), scene.parts[0])
    # What pointed along y points along z; right-handed.
    np.testing.assert_allclose([low, high], [(-0.2, -0.08, -0.1), (0.2, 0.02, 0.1)], atol=1e-6)
    scene = load_scene(make("step", tmp_path), units="cm", readers=readers)
    low, high = corners(scene, scene.parts[0])
    np.testing.assert_allclose(high - low, 10.0 * np.array(PLATE), rtol=1e-6)
    for wrong in ({"units": "furlong"}, {"units": -1.0}, {"up": "w"}):
        with pytest.raises(thud.errors.InvalidInputError, match=next(iter(wrong))):
            load_scene(path, readers=readers, **wrong)


def test_several_files_with_poses(tmp_path, readers):
    paths = [make("glb", tmp_path), make("3mf", tmp_path), make("urdf", tmp_path)]
    poses = thud.Pose([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    told: list[tuple[float, float]] = []
    scene = load_scene(paths, poses=poses, readers=readers, progress=lambda done, every: told.append((done, every)))
    assert told == sorted(told)
    assert told[0] == (0.0, 3.0)
    assert told[-1] == (3.0, 3.0)
    assert len(scene) == 9
    # The boxes of all three are the same up to rounding of float32 in GLB.
    assert len(set(scene.names)) == 9
    assert {part.source for part in scene} == {"assembly.glb", "assembly.3mf", "assembly.urdf"}
    for k in range(3):
        heights = [corners(scene, part)[0][2] for part in scene.parts[3 * k : 3 * k + 3]]
        np.testing.assert_allclose(min(heights), k - 0.02, atol=1e-6)
    assert scene.robot.part_count == 9
    np.testing.assert_allclose(scene.robot.poses(scene.robot.rest)[0][:, :3], scene.poses().position, atol=1e-12)
    with pytest.raises(thud.errors.InvalidInputError, match="poses"):
        load_scene(paths, poses=poses[:2], readers=readers)


def glb(tree, blob=b""):
    """The bytes of a GLB."""
    text = json.dumps({"asset": {"version": "2.0"}, "buffers": [{"byteLength": len(blob)}], **tree}).encode()
    text += b" " * (-len(text) % 4)
    blob += b"\0" * (-len(blob) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(blob), b"BIN\0") + blob
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def box_tree(nodes, primitives=1, **more):
    """A GLB of a unit box (as triangles, possibly once a primitive), shown by these nodes."""
    import trimesh

    box = trimesh.creation.box((1, 1, 1))
    points, faces = box.vertices.astype("<f4").tobytes(), box.faces.astype("<u2").tobytes()
    primitive = {"attributes": {"POSITION": 0}, "indices": 1}
    tree = {
        "nodes": nodes,
        "meshes": [{"primitives": [primitive] * primitives}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(box.vertices), "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": box.faces.size, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(points)},
            {"buffer": 0, "byteOffset": len(points), "byteLength": len(faces)},
        ],
    }
    return glb(tree | more, points + faces)


def loaded(data, tmp_path, readers, name="a.glb", **options):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return load_scene(path, readers=readers, **options)


def test_gltf_scales_names_and_shared_nodes(tmp_path, readers):
    nodes = [
        {"name": "top", "children": [1, 2, 3, 4], "scale": [2, 2, 2]},
        {"name": "a", "mesh": 0, "scale": [-1, 1, 1], "translation": [1, 0, 0]},
        {"name": "a", "mesh": 0, "rotation": [0, 0.6, 0, 0.8]},
        {"name": "", "mesh": 0, "scale": [1, 2, 3], "rotation": [0.5, 0.5, 0.5, 0.5]},
        {"name": "ä/b\u202e\n", "mesh": 0, "children": [5]},
        {"mesh": 0, "matrix": [1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 0, 7, 0, 1]},
    ]
    scene = loaded(box_tree(nodes), tmp_path, readers)
    assert scene.names == ("top/a", "top/a#2", "top/node 3", "top/ä\u2215b", "top/ä\u2215b/node 5")
    assert [part.parent for part in scene] == ["top"] * 4 + ["top/ä\u2215b"]
    # A mirrored box is turned outside out again; scale and shear are in the mesh; rotations alone share it.
    np.testing.assert_allclose([scene.mesh_of(part).volume for part in scene], [8, 8, 48, 8, 8], rtol=1e-6)
    assert not any(mesh.problems().inverted for mesh in scene.meshes)
    assert scene.parts[1].mesh == scene.parts[3].mesh
    # y up: 7 * 2 along y is up.
    np.testing.assert_allclose(scene.parts[4].pose.position, (0, 0, 14), atol=1e-9)
    # Against the whole matrix, in the file's frame.
    x = np.array([0.5, 0.5, -0.5])
    turn = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0.0]])
    shear = np.array(nodes[5]["matrix"], dtype=float).reshape(4, 4).T
    want = turn @ (2.0 * (shear[:3, :3] @ x + shear[:3, 3]))
    points = scene.parts[4].pose.apply(scene.mesh_of(4).vertices)
    assert np.abs(points - want).max(axis=1).min() < 1e-6


def test_gltf_node_of_two_parents_is_shown_twice(tmp_path, readers):
    nodes = [
        {"name": "l", "children": [2]},
        {"name": "r", "children": [2], "translation": [3, 0, 0]},
        {"name": "box", "mesh": 0},
    ]
    scene = loaded(box_tree(nodes, scenes=[{"nodes": [0, 1]}]), tmp_path, readers)
    assert scene.names == ("l/box", "r/box")
    assert len(scene.meshes) == 1


def test_names_as_the_file_has_them_do_not_depend_on_its_order(tmp_path, readers):
    # Of two pumps the second is "pump#2", which may be what the file calls another; `given` is what the file says.
    nodes = [{"name": name, "mesh": 0, "translation": [3 * k, 0, 0]} for k, name in enumerate(("pump", "pump", "pump#2"))]
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        data = box_tree([nodes[k] for k in order], scenes=[{"nodes": [0, 1, 2]}])
        scene = loaded(data, tmp_path, readers)
        assert len(set(scene.names)) == 3
        assert {(part.given, round(part.pose.position[0])) for part in scene} == {("pump", 0), ("pump", 3), ("pump#2", 6)}
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.glb").write_bytes(data)
    both = load_scene([tmp_path / "a.glb", tmp_path / "b" / "a.glb"], readers=readers)
    assert {part.name.split("/")[0] for part in both} == {"a", "a#2"}
    assert {part.given for part in both} == {"a/pump", "a/pump#2"}


def test_gltf_primitives_strips_and_sparse(tmp_path, readers):
    # Two primitives of one mesh are one part; here the same one twice: doubled triangles, of which one is dropped.
    scene = loaded(box_tree([{"mesh": 0}], primitives=2), tmp_path, readers)
    assert len(scene) == 1
    assert scene.triangle_count == 12
    assert any("doubled" in note.text and note.severity == "repaired" for note in scene.notes)
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], dtype="<f4")
    views = [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 2}]
    views += [{"buffer": 0, "byteOffset": 52, "byteLength": 12}]
    accessors = [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}]
    accessors[0]["sparse"] = {
        "count": 1,
        "indices": {"bufferView": 1, "componentType": 5123},
        "values": {"bufferView": 2},
    }
    blob = points.tobytes() + b"\x03\x00\0\0" + np.array([1, 1, 5], dtype="<f4").tobytes()
    mesh = {"primitives": [{"attributes": {"POSITION": 0}, "mode": 5}]}
    tree = {"nodes": [{"mesh": 0}], "meshes": [mesh], "accessors": accessors, "bufferViews": views}
    scene = loaded(glb(tree, blob), tmp_path, readers)
    assert scene.triangle_count == 2
    assert scene.bounds()[0][1] == pytest.approx(-5.0)
    # Both triangles of a strip face one way.
    assert len(scene.meshes[0].problems().flipped_edges) == 0
    assert [note.severity for note in scene.notes] == ["left"]


def test_obj_groups_polygons_and_materials(tmp_path, readers):
    text = """mtllib ../../etc/passwd
    o first
    v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1
    usemtl red
    f 1 2 3 4
    g second part
    f -5 -4 -1
    f 1/1/1 2//2 5
    """
    scene = loaded("\n".join(line.strip() for line in text.splitlines()), tmp_path, readers, "a.obj")
    assert scene.triangle_count == 3
    assert len(scene) == 2
    # The last two are one triangle, counted from the front and from the back. Groups are below their object.
    assert scene.names == ("first", "first/second part")
    assert np.ptp(np.asarray(scene.mesh_of(1).vertices), axis=0).tolist() == [1, 0, 1]
    assert any("doubled" in note.text for note in scene.notes)
    # Counted back from the line, not from the end of the file.
    text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 9 9 9\n"
    assert loaded(text, tmp_path, readers, "b.obj").bounds()[1].max() == 1.0


def test_3mf_components_and_units(tmp_path, readers):
    import zipfile

    model = """<?xml version="1.0"?><model unit="inch" xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02">
    <resources><object id="1" name="tetra"><mesh><vertices>
    <vertex x="0" y="0" z="0"/><vertex x="1" y="0" z="0"/><vertex x="0" y="1" z="0"/><vertex x="0" y="0" z="1"/></vertices>
    <triangles><triangle v1="0" v2="2" v3="1"/><triangle v1="0" v2="1" v3="3"/><triangle v1="1" v2="2" v3="3"/>
    <triangle v1="0" v2="3" v3="2"/></triangles></mesh></object>
    <object id="2" name="pair"><components><component objectid="1" transform="1 0 0 0 1 0 0 0 1 10 0 0"/>
    <component objectid="1" transform="0 1 0 -1 0 0 0 0 1 0 10 0"/></components></object></resources>
    <build><item objectid="2" transform="1 0 0 0 1 0 0 0 1 0 0 100"/></build></model>"""
    path = tmp_path / "a.3mf"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("3D/3dmodel.model", model)
    scene = load_scene(path, readers=readers)
    assert scene.names == ("pair/tetra", "pair/tetra#2")
    assert len(scene.meshes) == 1
    np.testing.assert_allclose(scene.parts[0].pose.position, np.array([10, 0, 100]) * 0.0254, atol=1e-12)
    np.testing.assert_allclose(scene.parts[1].pose.position, np.array([0, 10, 100]) * 0.0254, atol=1e-12)
    # Row vectors: x goes to y.
    np.testing.assert_allclose(scene.parts[1].pose.apply([1.0, 0, 0]) - scene.parts[1].pose.position, (0, 1, 0), atol=1e-12)


def test_step_in_metres_without_assembly(tmp_path, readers):
    scene = loaded(step_text({"block": (1.0, 2.0, 3.0)}, [], prefix="$"), tmp_path, readers, "a.stp")
    assert scene.names == ("block",)
    assert scene.meshes[0].volume == pytest.approx(6.0)
    assert scene.units == "metre (from the file)"


def test_ifc_openings_and_spaces(tmp_path, readers):
    import ifcopenshell
    import ifcopenshell.api.aggregate
    import ifcopenshell.api.feature
    import ifcopenshell.api.geometry
    import ifcopenshell.api.root

    api = ifcopenshell.api
    path = make("ifc", tmp_path)
    model = ifcopenshell.open(str(path))
    body = next(c for c in model.by_type("IfcGeometricRepresentationSubContext") if c.ContextIdentifier == "Body")
    wall, storey = model.by_type("IfcWall")[0], model.by_type("IfcBuildingStorey")[0]

    def block(kind, size, place):
        element = api.root.create_entity(model, ifc_class=kind, name=kind)
        shape = api.geometry.add_wall_representation(model, context=body, length=size[0], height=size[2], thickness=size[1])
        api.geometry.assign_representation(model, product=element, representation=shape)
        api.geometry.edit_object_placement(model, product=element, matrix=moved(place))
        return element

    api.feature.add_feature(model, feature=block("IfcOpeningElement", (0.1, 0.1, 0.2), (0, -0.05, -0.1)), element=wall)
    space = block("IfcSpace", (1, 1, 1), (0, 0, 0))
    api.aggregate.assign_object(model, relating_object=storey, products=[space])
    model.write(str(path))
    scene = load_scene(path, readers=readers)
    assert "IfcSpace" not in {part.kind for part in scene}
    assert any("1 spaces" in note.text for note in scene.notes)
    plate = scene.mesh_of(next(k for k, part in enumerate(scene) if part.name.endswith("plate")))
    assert plate.volume == pytest.approx(0.4 * 0.2 * 0.02 - 0.1 * 0.1 * 0.02)
    assert plate.is_closed
    scene = load_scene(path, include_spaces=True, readers=readers)
    assert [part.guid for part in scene if part.kind == "IfcSpace"] == [space.GlobalId]
    assert "IfcOpeningElement" not in {part.kind for part in scene}


def test_usd_instancers_shapes_and_axes(tmp_path, readers):
    from pxr import Gf, Usd, UsdGeom, Vt

    path = tmp_path / "a.usda"
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    top = UsdGeom.Xform.Define(stage, "/top")
    top.AddTranslateOp().Set(Gf.Vec3d(0, 100, 0))
    instancer = UsdGeom.PointInstancer.Define(stage, "/top/many")
    cube = UsdGeom.Cube.Define(stage, "/top/many/protos/cube")
    cube.CreateSizeAttr(10.0)
    UsdGeom.Xformable(cube).AddTranslateOp().Set(Gf.Vec3d(0, 0, 50))
    UsdGeom.Scope.Define(stage, "/top/many/protos").GetPrim()
    instancer.CreatePrototypesRel().AddTarget(cube.GetPath())
    instancer.CreateProtoIndicesAttr([0, 0])
    instancer.CreatePositionsAttr(Vt.Vec3fArray([Gf.Vec3f(0, 0, 0), Gf.Vec3f(200, 0, 0)]))
    tube = UsdGeom.Cylinder.Define(stage, "/tube")
    tube.CreateRadiusAttr(5.0)
    tube.CreateHeightAttr(40.0)
    tube.CreateAxisAttr("X")
    hidden = UsdGeom.Sphere.Define(stage, "/hidden")
    hidden.CreateVisibilityAttr(UsdGeom.Tokens.invisible)
    concave = UsdGeom.Mesh.Define(stage, "/arrow")
    concave.CreatePointsAttr([Gf.Vec3f(*p) for p in ((0, 0, 0), (1, 1, 0), (0, 4, 0), (-1, 1, 0), (0, 2, 0))])
    concave.CreateFaceVertexCountsAttr([5])
    concave.CreateFaceVertexIndicesAttr([4, 3, 0, 1, 2])
    stage.Save()
    scene = load_scene(path, readers=readers)
    assert scene.names == ("top/many/cube 1", "top/many/cube 2", "tube", "arrow")
    assert scene.units == "centimetre (from the file)"
    # y up: 100 up, 50 along z towards the viewer is -y.
    np.testing.assert_allclose(scene.parts[0].pose.position, (0, -0.5, 1.0), atol=1e-9)
    np.testing.assert_allclose(scene.parts[1].pose.position, (2.0, -0.5, 1.0), atol=1e-9)
    assert scene.mesh_of(0).volume == pytest.approx(1e-3)
    low, high = corners(scene, scene.parts[2])
    np.testing.assert_allclose(high - low, (0.4, 0.1, 0.1), atol=1e-9)
    # A fan from the first corner would cover more than the polygon.
    arrow = scene.mesh_of(3)
    a, b, c = (np.asarray(arrow.vertices)[np.asarray(arrow.faces)[:, k]] for k in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    ring = np.array([(0, 2), (-1, 1), (0, 0), (1, 1), (0, 4)])
    x, y = ring.T
    assert area == pytest.approx(1e-4 * 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)), rel=1e-6)
    assert any("invisible" in note.text for note in scene.notes)


def test_urdf_joints_primitives_and_mimic(tmp_path, readers):
    text = """<robot name="arm"><link name="base"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
    <link name="upper"><collision><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.05" length="1"/></geometry></collision>
      <collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
    <link name="slide"><collision><geometry><box size="0.2 0.1 0.1"/></geometry></collision></link><link name="tool"/>
    <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 2"/>
      <limit lower="-1" upper="1.5" effort="1" velocity="1"/></joint>
    <joint name="rail" type="prismatic"><origin xyz="1 0 0"/><parent link="upper"/><child link="slide"/><axis xyz="1 0 0"/>
      <limit lower="0.2" upper="0.6" effort="1" velocity="1"/><mimic joint="shoulder" multiplier="0.1" offset="0.3"/></joint>
    <joint name="end" type="fixed"><parent link="slide"/><child link="tool"/></joint></robot>"""
    scene = loaded(text, tmp_path, readers, "arm.urdf")
    robot = scene.robot
    assert scene.names == ("arm/base", "arm/upper/cylinder", "arm/upper/box", "arm/slide")
    assert [joint.name for joint in robot.joints] == ["shoulder"]
    np.testing.assert_allclose(robot.limits, [(-1.0, 1.5)])
    assert robot.adjacent == (("base", "upper"), ("slide", "tool"), ("slide", "upper"), ("tool", "upper"))
    angle = np.array([[0.0], [0.7], [-1.0]])
    poses = robot.poses(angle)
    assert poses.shape == (3, 4, 7)
    for row, (value,) in enumerate(angle):
        c, s = np.cos(value), np.sin(value)
        reach = 1.0 + 0.1 * value + 0.3
        np.testing.assert_allclose(poses[row, 1, :3], (0.5 * c, 0.5 * s, 0), atol=1e-12)
        np.testing.assert_allclose(poses[row, 3, :3], (reach * c, reach * s, 0), atol=1e-12)
        np.testing.assert_allclose(poses[row, 3, 3:], (np.cos(value / 2), 0, 0, np.sin(value / 2)), atol=1e-12)
    low, high = corners(scene, scene.parts[1])
    np.testing.assert_allclose(high - low, (1.0, 0.1, 0.1), atol=1e-9)
    assert any("visual geometry is taken" in note.text for note in scene.notes)
    assert [robot.link_of(k) for k in range(4)] == ["base", "upper", "upper", "slide"]
    samples = robot.sample(50, seed=1)
    assert samples.shape == (50, 1)
    assert (samples >= -1.0).all()
    assert (samples <= 1.5).all()
    moved_scene = scene.moved(thud.Pose([0.0, 0.0, 3.0]))
    np.testing.assert_allclose(moved_scene.robot.poses([0.0])[0, :, 2], poses[0, :, 2] + 3.0, atol=1e-12)
    with pytest.raises(SceneFileError, match="xacro"):
        loaded('<robot name="a" xmlns:xacro="http://x"><xacro:macro name="b"/></robot>', tmp_path, readers, "a.xacro")
    # Plain URDF under that name is read.
    assert len(loaded(text, tmp_path, readers, "plain.xacro")) == 4
