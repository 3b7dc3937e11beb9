"""Files that mean harm are refused by a named error that says where, and the process that reads them can do none."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tests.io.scene_files.make import make
from tests.io.test_scene_formats import box_tree, glb
from thud.errors import (
    FileFormatError,
    MissingExtraError,
    SceneFileError,
    SceneLimitError,
    SceneReaderError,
    SceneReferenceError,
)
from thud.io import SceneLimits, load_scene
from thud.io.scene import child
from thud.io.scene.child import Readers

SMALL = SceneLimits(
    file_bytes=2**22, memory_bytes=2**31, seconds=10.0, triangles=20_000, vertices=20_000, parts=500, depth=20, references=10
)


@pytest.fixture(scope="module")
def readers():
    with Readers() as process:
        yield process


def refused(error, match, path, readers, limits=SMALL, **options):
    with pytest.raises(error, match=match) as caught:
        load_scene(path, limits=limits, readers=readers, **options)
    # The message begins with the file.
    assert str(caught.value).startswith(str(path))


def write(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_names_and_first_bytes(tmp_path, readers):
    with pytest.raises(FileNotFoundError):
        load_scene(tmp_path / "not there.glb")
    refused(SceneFileError, "empty", write(tmp_path, "a.glb", b""), readers)
    refused(SceneFileError, "ending '.docx' is not known", write(tmp_path, "a.docx", b"x"), readers)
    refused(SceneFileError, "as a PNG picture does", write(tmp_path, "a.glb", b"\x89PNG\r\n\x1a\n" + bytes(99)), readers)
    refused(SceneFileError, "as a program does", write(tmp_path, "a.stl", b"\x7fELF" + bytes(99)), readers)
    refused(SceneFileError, "not COLLADA", write(tmp_path, "a.dae", b"PK\x03\x04"), readers)
    refused(SceneLimitError, "limits.file_bytes", write(tmp_path, "b.obj", b"#" * (2**22 + 1)), readers)
    refused(SceneFileError, "no triangle", write(tmp_path, "c.obj", b"v 0 0 0\n"), readers)
    # A known ending for a file of another format.
    ifc = make("ifc", tmp_path / "ifc").read_bytes()
    refused(FileFormatError, "STEP|crashed", write(tmp_path, "a.step", ifc), readers)


def test_truncated(tmp_path, readers):
    for ending in ("glb", "stl", "ply", "3mf", "step", "ifc", "usdc", "usdz", "dae", "urdf"):
        data = make(ending, tmp_path / ending).read_bytes()
        path = write(tmp_path / ending, f"cut.{ending}", data[: len(data) * 2 // 3])
        refused(SceneFileError, None, path, readers)


@pytest.mark.parametrize(
    "uri", ["http://example.com/a.bin", "//host/a.bin", "../secret.bin", "/etc/passwd", "%2e%2e/secret.bin"]
)
def test_gltf_buffers_stay_in_the_folder(uri, tmp_path, readers):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(1000))
    tree = json.loads(box_tree([{"mesh": 0}])[20:].split(b"BIN\0")[0][:-4].strip(b"\0 ").decode())
    tree["buffers"] = [{"byteLength": 100, "uri": uri}]
    path = write(folder, "a.gltf", json.dumps(tree))
    refused(SceneReferenceError, "buffers 0: refers to", path, readers)


def test_links_do_not_lead_out(tmp_path, readers):
    folder = tmp_path / "in"
    path = make("gltf", folder)
    data = next(folder.glob("*.bin"))
    outside = tmp_path / data.name
    os.replace(data, outside)
    os.symlink(outside, data)
    refused(SceneReferenceError, "outside the folder", path, readers)
    assert len(load_scene(path, root=tmp_path, readers=readers)) == 3


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"nodes": [{"children": [1]}, {"children": [0]}], "scenes": [{"nodes": [0]}]}, "its own ancestor"),
        ({"nodes": [{"children": [k + 1]} for k in range(60)] + [{"mesh": 0}]}, "limits.depth"),
        ({"nodes": [{"children": [k + 1] * 6} for k in range(8)] + [{"mesh": 0}]}, "limits.parts"),
        ({"nodes": [{"mesh": 7}]}, "refers to meshes 7; there are 1"),
        ({"nodes": [{"mesh": 0, "translation": [1e999, 0, 0]}]}, "translation"),
        ({"nodes": [{"mesh": 0, "rotation": [0, 0, 0, 0]}]}, "rotation"),
        ({"nodes": [{"mesh": -1}]}, "refers to meshes -1"),
        ({"nodes": "x"}, "nodes"),
        ({"extensionsRequired": ["KHR_draco_mesh_compression"]}, "requires the extension"),
    ],
)
def test_gltf_trees(change, match, tmp_path, readers):
    nodes = change.pop("nodes", [{"mesh": 0}])
    refused(SceneFileError, match, write(tmp_path, "a.glb", box_tree(nodes, **change)), readers)


def test_gltf_numbers(tmp_path, readers):
    def tree(**changed):
        base = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
        mesh = {"primitives": [{"attributes": {"POSITION": 0}}]}
        views = [{"buffer": 0, "byteLength": 36}]
        return {"nodes": [{"mesh": 0}], "meshes": [mesh], "accessors": [base | changed], "bufferViews": views}

    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4")
    assert load_scene(write(tmp_path, "a.glb", glb(tree(), points.tobytes())), readers=readers).triangle_count == 1
    refused(SceneFileError, "do not fit", write(tmp_path, "a.glb", glb(tree(count=4), points.tobytes())), readers)
    refused(SceneLimitError, "allow", write(tmp_path, "a.glb", glb(tree(count=2**50), points.tobytes())), readers)
    refused(SceneFileError, "byteOffset", write(tmp_path, "a.glb", glb(tree(byteOffset=-12), points.tobytes())), readers)
    points[1, 1] = np.nan
    refused(SceneFileError, "vertex 1 is", write(tmp_path, "a.glb", glb(tree(), points.tobytes())), readers)
    deep = b"[" * 100_000
    body = struct.pack("<I4s", len(deep), b"JSON") + deep
    bomb = struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body
    refused(SceneLimitError, "limits.depth", write(tmp_path, "a.glb", bomb), readers)


def three_mf(path, model, compression=zipfile.ZIP_DEFLATED, **members):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("3D/3dmodel.model", model)
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_zip_bombs(tmp_path, readers):
    vertex = '<vertex x="0" y="0" z="0"/>'
    model = (
        f"<model><resources><object id='1'><mesh><vertices>{vertex * 200_000}</vertices></mesh></object></resources></model>"
    )
    refused(SceneLimitError, "limits.archive_ratio", three_mf(tmp_path / "a.3mf", model), readers)
    refused(
        SceneLimitError,
        "limits.archive_entries",
        three_mf(tmp_path / "b.3mf", "<model/>", **{f"f{k}": "" for k in range(40)}),
        readers,
        SceneLimits(archive_entries=20),
    )
    refused(
        SceneLimitError,
        "limits.archive_bytes",
        three_mf(tmp_path / "c.3mf", model, zipfile.ZIP_STORED),
        readers,
        SceneLimits(archive_bytes=10_000),
    )
    refused(SceneReferenceError, "outside the archive", three_mf(tmp_path / "d.3mf", "<model/>", **{"../../x": "y"}), readers)
    # A size in the directory that is not that of the data.
    data = bytearray(three_mf(tmp_path / "e.3mf", "<model>" + " " * 5000 + "</model>").read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 100)
    refused(SceneFileError, None, write(tmp_path, "f.3mf", bytes(data)), readers)


def test_3mf_component_bombs_and_cycles(tmp_path, readers):
    mesh = """<mesh><vertices><vertex x="0" y="0" z="0"/><vertex x="1" y="0" z="0"/><vertex x="0" y="1" z="0"/></vertices>
    <triangles><triangle v1="0" v2="1" v3="2"/></triangles></mesh>"""

    def model(objects):
        return f"<model><resources>{objects}</resources><build><item objectid='9'/></build></model>"

    many = f"<object id='0'>{mesh}</object>"
    for k in range(1, 10):
        many += f"<object id='{k}'><components>" + f"<component objectid='{k - 1}'/>" * 10 + "</components></object>"
    refused(SceneLimitError, "limits.parts", three_mf(tmp_path / "a.3mf", model(many)), readers)
    circle = "<object id='9'><components><component objectid='9'/></components></object>"
    refused(SceneFileError, "component of itself", three_mf(tmp_path / "b.3mf", model(circle)), readers)
    lost = "<object id='9'><components><component objectid='3'/></components></object>"
    refused(SceneFileError, "not there", three_mf(tmp_path / "c.3mf", model(lost)), readers)
    wrong = model(f"<object id='9'>{mesh.replace('v2=', 'v9=')}</object>")
    refused(SceneFileError, "line 2", three_mf(tmp_path / "d.3mf", wrong), readers)


LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize("ending", ["dae", "urdf", "3mf"])
def test_xml_bombs(ending, tmp_path, readers):
    for head in (
        LAUGHS,
        '<!DOCTYPE x SYSTEM "http://example.com/x.dtd">',
        '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>',
    ):
        text = f'<?xml version="1.0"?>{head}<robot name="a"><link name="&b;"/></robot>'
        for encoding in ("utf-8", "utf-16"):
            data = text.encode(encoding)
            path = three_mf(tmp_path / "a.3mf", data) if ending == "3mf" else write(tmp_path, f"a.{ending}", data)
            refused(SceneFileError, "document type|not well-formed", path, readers)
    deep = "<a>" * 1000 + "</a>" * 1000
    path = three_mf(tmp_path / "b.3mf", deep) if ending == "3mf" else write(tmp_path, f"b.{ending}", deep)
    refused(SceneLimitError, "limits.depth", path, readers)


@pytest.mark.parametrize(
    "name",
    [
        "../out.stl",
        "/etc/passwd",
        "package://../out.stl",
        "file:///etc/passwd",
        "http://example.com/a.stl",
        "model://x/../../a",
    ],
)
def test_urdf_meshes_stay_in_the_folder(name, tmp_path, readers):
    folder = tmp_path / "in"
    folder.mkdir()
    make("stl", tmp_path)
    os.replace(tmp_path / "assembly.stl", tmp_path / "out.stl")
    mesh = f'<robot name="r"><link name="a"><visual><geometry><mesh filename="{name}"/></geometry></visual></link></robot>'
    refused(SceneReferenceError, "link 'a'", write(folder, "a.urdf", mesh), readers)


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ('<joint name="j" type="fixed"><parent link="a"/><child link="a"/></joint>', "circle"),
        ('<joint name="j" type="fixed"><parent link="a"/><child link="c"/></joint>', "not there"),
        ('<link name="a"/>', "two links"),
        ('<link name="b"><visual><geometry><box size="1 nan 1"/></geometry></visual></link>', "sizes"),
        ('<link name="b"><visual><geometry><sphere radius="-1"/></geometry></visual></link>', "sizes"),
    ],
)
def test_urdf_trees(body, match, tmp_path, readers):
    refused(SceneFileError, match, write(tmp_path, "a.urdf", f'<robot name="r"><link name="a"/>{body}</robot>'), readers)


@pytest.mark.parametrize("name", ["../out.usda", "/etc/passwd", "http://example.com/a.usda"])
@pytest.mark.parametrize("how", ["references", "payload", "subLayers", "variant"])
def test_usd_layers_stay_in_the_folder(name, how, tmp_path, readers):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "out.usda").write_text('#usda 1.0\ndef Cube "a" {}\n')
    texts = {
        "references": f'#usda 1.0\ndef "a" (references = @{name}@</a>) {{}}\n',
        "payload": f'#usda 1.0\ndef "a" (payload = @{name}@</a>) {{}}\n',
        "subLayers": f"#usda 1.0\n(subLayers = [@{name}@])\n",
        "variant": (
            '#usda 1.0\ndef "a" (variants = {string v = "x"}\nprepend variantSets = "v") '
            f'{{\nvariantSet "v" = {{ "x" (references = @{name}@</a>) {{}} }}\n}}\n'
        ),
    }
    refused(SceneReferenceError, "refers to", write(folder, "a.usda", texts[how]), readers)


def test_usd_counts_and_depth(tmp_path, readers):
    deep = "".join(f'def "p{k}" {{\n' for k in range(100)) + "}\n" * 100
    refused(SceneLimitError, "limits.depth", write(tmp_path, "a.usda", f"#usda 1.0\n{deep}"), readers)
    mesh = (
        'def Mesh "m" { int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0, 1, 99]\n point3f[] points = [(0,0,0)]\n}'
    )
    refused(SceneFileError, "names point 99", write(tmp_path, "b.usda", f"#usda 1.0\n{mesh}\n"), readers)
    indices = ", ".join(["0"] * 2000)
    many = f"""def PointInstancer "i" {{ rel prototypes = </i/c>\n int[] protoIndices = [{indices}]
    point3f[] positions = [{", ".join(["(0,0,0)"] * 2000)}]\n def Cube "c" {{}}\n }}"""
    refused(SceneLimitError, "limits.parts", write(tmp_path, "c.usda", f"#usda 1.0\n{many}\n"), readers)
    # References in a circle are USD's own matter: an error of the layer, or nothing to see.
    circle = '#usda 1.0\ndef "a" (references = @d.usda@</a>) {}\n'
    refused(SceneFileError, None, write(tmp_path, "d.usda", circle), readers)


def test_counts_that_lie(tmp_path, readers):
    stl = bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(50)
    refused(SceneFileError, "promises 4294967295 triangles", write(tmp_path, "a.stl", stl), readers)
    ply = b"ply\nformat ascii 1.0\nelement vertex 99999999999\nproperty float x\nend_header\n"
    refused(SceneFileError, "promises more", write(tmp_path, "a.ply", ply), readers)
    refused(SceneFileError, "names vertex 9", write(tmp_path, "a.obj", "v 0 0 0\nf 1 9 1\n"), readers)
    refused(SceneFileError, "not finite", write(tmp_path, "b.obj", "v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"), readers)
    huge = "v 0 0 0\nv 1e308 0 0\nv 0 1e308 0\nf 1 2 3\nf 1 2 3\n"
    refused(SceneFileError, "coordinate 1e\\+308", write(tmp_path, "d.obj", huge), readers)
    refused(SceneFileError, "beyond", write(tmp_path, "d.obj", huge.replace("308", "20")), readers)
    grid = "".join(f"v {k} {k % 7} 0\n" for k in range(30_000)) + "".join(f"f {k} {k + 1} {k + 2}\n" for k in range(1, 29_000))
    refused(SceneLimitError, "limits.", write(tmp_path, "c.obj", grid), readers)


def test_time_and_memory(tmp_path, readers, monkeypatch):
    path = make("step", tmp_path)
    refused(SceneLimitError, "limits.seconds", path, readers, SceneLimits(seconds=1e-4))
    refused((SceneLimitError, SceneReaderError), "limits.memory_bytes", path, readers, SceneLimits(memory_bytes=2**20))
    # The process goes on.
    assert len(load_scene(path, readers=readers)) == 3


#: What a taken-over reader might try; run in a process bound as that of a reader is.
ATTEMPTS = """
import ctypes, json, os, socket, subprocess, sys
from thud.io.scene.readers.confine import confine
folder, outside = sys.argv[1:3]
layers = confine(folder, [os.path.dirname(os.__file__)], 2**32, 100.0, 2**20)
done = []
def attempt(name, act):
    try:
        act()
    except Exception:
        return
    done.append(name)
libc = ctypes.CDLL(None, use_errno=True)
def call(value):
    if value < 0:
        raise OSError(ctypes.get_errno())
attempt("write", lambda: open(os.path.join(outside, "x"), "w"))
attempt("make folder", lambda: os.mkdir(os.path.join(outside, "y")))
attempt("remove", lambda: os.remove(os.path.join(outside, "keep")))
attempt("rename", lambda: os.rename(os.path.join(outside, "keep"), os.path.join(folder, "z")))
attempt("program", lambda: subprocess.run(["true"]))
attempt("system", lambda: os.system("true"))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[3])), timeout=2))
if "landlock" in layers:
    attempt("C write", lambda: call(libc.open(os.path.join(outside, "w").encode(), os.O_CREAT | os.O_WRONLY, 0o600)))
    attempt("C read", lambda: call(libc.open(os.path.join(outside, "keep").encode(), os.O_RDONLY)))
if "seccomp" in layers:
    attempt("C socket", lambda: call(libc.socket(2, 1, 0)))
    attempt("C exec", lambda: call(libc.execv(b"/bin/true", (ctypes.c_char_p * 2)(b"true", None))))
attempt("memory", lambda: bytearray(2**33))
with open(os.path.join(folder, "own"), "w") as file:
    file.write("x")
print(json.dumps([layers, done]))
"""


def test_the_process_that_reads_is_bound(tmp_path):
    folder, outside = tmp_path / "own", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "keep").write_text("x")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        run = subprocess.run(
            [sys.executable, "-c", ATTEMPTS, str(folder), str(outside), str(server.getsockname()[1])],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    layers, done = json.loads(run.stdout)
    assert done == []
    assert {"audit", "rlimit"} <= set(layers)
    assert [p.name for p in outside.iterdir()] == ["keep"]


def test_what_a_reader_leaves_is_not_believed(tmp_path):
    """A reader that was taken over may write anything into its folder."""
    limits = SceneLimits(vertices=1000, triangles=1000)

    def leave(**changed):
        header = {"nodes": [{"name": "a", "parent": -1, "mesh": 0}], "notes": [], "counts": [[3, 1]], "metres": 1.0}
        header |= {"stated": None, "up": "z", "robot": None}
        arrays = {"vertices": np.eye(3), "faces": np.array([[0, 1, 2]]), "matrices": np.eye(4).reshape(1, 16)}
        (tmp_path / "scene.json").write_text(json.dumps(header | {k: v for k, v in changed.items() if k in header}))
        for name, array in arrays.items():
            np.save(tmp_path / f"{name}.npy", changed.get(name, array), allow_pickle=True)
        return child._take(str(tmp_path), limits)

    assert len(leave().meshes) == 1
    for changed in (
        {"faces": np.array([[0, 1, 3]])},
        {"faces": np.array([[0, 1, -1]])},
        {"vertices": np.full((3, 3), np.nan)},
        {"vertices": np.array([["a", None, {}]], dtype=object)},
        {"vertices": np.zeros((5000, 3))},
        {"nodes": [{"name": "a", "parent": 0, "mesh": 0}]},
        {"nodes": [{"name": "a", "parent": -1, "mesh": 5}]},
        {"nodes": 3},
        {"counts": [[3, 2]]},
        {"counts": [[10**30, 1]]},
        {"metres": float("nan")},
        {"metres": "x"},
        {"up": "../"},
        {"matrices": np.zeros((2, 16))},
    ):
        with pytest.raises(SceneFileError):
            leave(**changed)
    (tmp_path / "vertices.npy").unlink()
    os.symlink("/dev/zero", tmp_path / "vertices.npy")
    with pytest.raises(SceneReaderError):
        child._take(str(tmp_path), limits)


def test_a_crash_of_a_reader_is_a_named_error(tmp_path):
    for code, match in ((-11, "SIGSEGV"), (-6, "SIGABRT.*memory_bytes"), (70, "code 70")):
        with pytest.raises(SceneReaderError, match=match):
            child._judge({"exit": code}, "step", str(tmp_path), SMALL)
    with pytest.raises(MissingExtraError, match=r"thud\[cad\]"):
        child._judge({"missing": "cascadio"}, "step", str(tmp_path), SMALL)
    (tmp_path / "error.json").write_text(json.dumps({"kind": "SystemExit", "text": "a\x1b[31mb"}))
    with pytest.raises(SceneFileError) as caught:
        child._judge({"exit": 1}, "step", str(tmp_path), SMALL)
    assert "\x1b" not in str(caught.value)


def test_numba_is_not_imported_by_the_process(tmp_path):
    code = (
        "import sys, thud.io.scene.readers.main, thud.io.scene.readers.gltf, thud.io.scene.readers.confine, "
        "thud.io.scene.readers.raw; print('numba' in sys.modules, 'scipy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]
