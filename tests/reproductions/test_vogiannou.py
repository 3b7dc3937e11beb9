"""The reproduction of [Vogiannou] at its smallest size, its models, and the readers of model files."""

from __future__ import annotations

import csv
import struct
from pathlib import Path

import numpy as np
import pytest

import thud
from reproductions.__main__ import main
from reproductions.mesh_files import fill_holes, read_mesh
from reproductions.models import models, small_models
from reproductions.vogiannou import docs, figure_7, figure_9, figure_10
from reproductions.vogiannou.report import Report


def test_all_statements_hold_at_the_smallest_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vogiannou", "--size", "ci", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for figure in (7, 8, 9, 10, 11):
        assert f"Figure {figure}" in printed
        assert (tmp_path / f"vogiannou_figure_{figure}.png").read_bytes().startswith(b"\x89PNG")
    assert "Paper: " in printed
    with (tmp_path / "vogiannou.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["figure"] for row in rows} == {"7", "8", "9", "10", "11"}
    # Bounding efficiencies: no volume beats the hull, and the hull holds the object.
    shares = {(row["model"], row["series"], row["x"]): float(row["y"]) for row in rows if row["figure"] == "7"}
    for (model, _, _), share in shares.items():
        assert 0 < share <= shares[model, "convex hull", "0"] * (1 + 1e-6) <= 1 + 1e-6
    # What mappings that cost nothing would gain is a matter of the tests that are left, not of what the objects' classes took:
    # pairs that are not told apart gain too, below.
    left = {(r["series"], r["x"]): float(r["y"]) for r in rows if r["figure"] == "10" and "volume tests" in r["series"]}
    free = {b: left[f"{b} DFSPM volume tests", "0"] / left[f"{b} DFSPM volume tests", "2"] for b in figure_10.BOUNDINGS}
    assert ", ".join(f"{b} {gain:.2f}x" for b, gain in free.items()) in printed
    assert "apart at level 2 " in printed


def test_the_docs_quote_the_results() -> None:
    assert docs.block() in docs.PAGE.read_text()


def test_generated_models_are_closed_and_of_the_papers_size() -> None:
    for name, (vertices, faces) in models().items():
        mesh = thud.TriangleMesh(vertices, faces)
        assert mesh.is_closed, name
        assert 16_000 < len(faces) < 18_000
        # Concave: a good part of the hull is empty.
        assert mesh.volume < 0.9 * mesh.hull.volume
        assert not mesh.problems().inverted


def test_volume_of_half_spaces_is_the_cubes() -> None:
    normals = np.vstack([np.eye(3), -np.eye(3)])
    assert figure_7.half_space_volume(normals, np.full(6, 0.5), np.zeros(3)) == pytest.approx(1.0)


def test_a_full_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    mesh = {"knot": thud.TriangleMesh(*small_models()["knot"])}
    settings = [("sphere", "none", 0), ("sphere", "DFSPM", 1)]
    partial = tmp_path / "partial.csv"
    first = figure_10._measure(mesh, settings, 40, 20, partial)
    # Half of the second block is lost; the first block is kept as it was, the second measured again.
    lines = partial.read_text().splitlines()
    assert len(lines) == 4
    partial.write_text("\n".join(lines[:3]) + "\n")
    second = figure_10._measure(mesh, settings, 40, 20, partial)
    for s in settings:
        assert second[0][s][0] == pytest.approx(first[0][s][0])
        np.testing.assert_allclose(second[1][s], first[1][s])


def test_a_statement_that_fails_is_counted(tmp_path: Path) -> None:
    report = Report("ci", tmp_path, generated=True)
    report.compare("the moon is round", "it is", True)
    report.compare("the moon is cheese", "it is not", False)
    report.compare("the moon is far", "384,400 km", None)
    # A comparison of NumPy's numbers was said not to hold, and not counted: every floor of Figure 9 was one.
    report.compare("the moon is near", "384,400 km", np.float64(384.4) < 1.0)
    assert report.close() == 2
    assert "DOES NOT HOLD" in (tmp_path / "vogiannou.md").read_text()


def statements_of_figure_9(tmp_path: Path, *, improvement: float, generated: bool) -> list[str]:
    """Those that fail, with the same improvement everywhere, and 90 % told apart."""
    report = Report("standard", tmp_path, generated=generated)
    keys = [(s, b, m) for s in figure_9.SETS for b in figure_9.BOUNDINGS for m in (*figure_9.MAPPINGS, figure_9.THREE)]
    keys += [(s, "sphere", figure_9.COMPACT_3) for s in figure_9.SETS]
    values = {k: np.full(8, improvement) + (2.0 if "3" in k[2] else 0.0) for k in keys}
    share = np.array([50.0, 58, 66, 74, 82, 90, 91, 92])
    told = dict.fromkeys([*keys, *((s, b, "plain") for s in figure_9.SETS for b in figure_9.BOUNDINGS)], share)
    figure_9._statements(report, told, values, values, [["close", "one", 9, 50.0, 80.0]], 8, figure_9.FLOORS["standard"])
    return report.failed


def test_floors_can_fail_and_bind_the_generated_models_alone(tmp_path: Path) -> None:
    assert statements_of_figure_9(tmp_path, improvement=56.0, generated=True) == []
    (failed,) = statements_of_figure_9(tmp_path, improvement=54.0, generated=True)
    assert "at least 55 %" in failed
    assert statements_of_figure_9(tmp_path, improvement=54.0, generated=False) == []
    # Times are told and never counted as failures.
    for time, told in ((13.0, "holds"), (13.6, "differs")):
        report = Report("standard", tmp_path, generated=True)
        keys = [(b, m, d) for b in figure_10.BOUNDINGS for m, d in [("none", 0), *((m, 6) for m in figure_10.names_for(b))]]
        mean = dict.fromkeys(keys, 15.0) | {("sphere", figure_10.COMPACT_1, 6): time}
        counters = {k: np.array([100.0 if k[1] == "none" else 80.0, 10.0, 5.0, 1.0]) for k in keys}
        figure_10._statements(report, mean, dict.fromkeys(keys, 0.01), counters, (0, 6), 6, 0.9)
        assert report.failed == []
        assert f"faster than DFSPM does.\n  Here ({told})" in "\n".join(report.lines)


VERTICES = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.5], [0.5, 0.5, 2]])
POLYGONS = [[0, 1, 2, 3], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
FACES = np.array([[0, 1, 2], [0, 2, 3], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
PLY = (
    "element vertex 5\nproperty double x\nproperty float confidence\nproperty double y\nproperty double z\n"
    "element face 5\nproperty uchar flag\nproperty list uchar int vertex_indices\nend_header\n"
)


def ply(form: str) -> bytes:
    head = f"ply\nformat {form} 1.0\ncomment made by a test\n{PLY}".encode()
    if form == "ascii":
        lines = [f"{x} 0.5 {y} {z}" for x, y, z in VERTICES]
        lines += [" ".join(map(str, [7, len(p), *p])) for p in POLYGONS]
        return head + "\n".join(lines).encode()
    order = "<" if form == "binary_little_endian" else ">"
    body = b"".join(struct.pack(f"{order}dfdd", x, 0.5, y, z) for x, y, z in VERTICES)
    body += b"".join(struct.pack(f"{order}BB{len(p)}i", 7, len(p), *p) for p in POLYGONS)
    return head + body


@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_ply_files(form: str, tmp_path: Path) -> None:
    path = tmp_path / "pyramid.ply"
    path.write_bytes(ply(form))
    vertices, faces = read_mesh(path)
    np.testing.assert_array_equal(vertices, VERTICES)
    np.testing.assert_array_equal(faces, FACES)


@pytest.mark.parametrize("style", ["{}", "{}/1", "{}//2", "{}/1/2"])
@pytest.mark.parametrize("back", [False, True])
def test_obj_files(style: str, back: bool, tmp_path: Path) -> None:
    path = tmp_path / "pyramid.OBJ"
    lines = ["# a pyramid", "mtllib none.mtl", *(f"v {x} {y} {z}" for x, y, z in VERTICES), "vn 0 0 1", "g sides"]
    lines += ["f " + " ".join(style.format(k - 5 if back else k + 1) for k in p) for p in POLYGONS]
    path.write_text("\n".join(lines))
    vertices, faces = read_mesh(path)
    np.testing.assert_array_equal(vertices, VERTICES)
    np.testing.assert_array_equal(faces, FACES)


def test_files_that_are_no_models(tmp_path: Path) -> None:
    empty = tmp_path / "empty.obj"
    empty.write_text("# nothing\n")
    with pytest.raises(ValueError, match="expected vertices and faces"):
        read_mesh(empty)
    with pytest.raises(ValueError, match=r"ends in \.obj or \.ply"):
        read_mesh(tmp_path / "model.stl")


def test_a_given_model_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vertices, faces = small_models()["bumpy"]
    path = tmp_path / "mine.obj"
    path.write_text(
        "\n".join([*(f"v {x} {y} {z}" for x, y, z in vertices), *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces)])
    )
    seen: list[str] = []
    for figure in ("figure_7", "figure_8", "figure_9", "figure_10", "figure_11"):
        monkeypatch.setattr(f"reproductions.vogiannou.{figure}.run", lambda meshes, size, report: seen.extend(meshes))
    assert main(["vogiannou", "--model", str(path), "--out", str(tmp_path)]) == 0
    assert seen == ["mine"] * 5


def test_holes_are_filled() -> None:
    vertices, faces = small_models()["knot"]
    whole = thud.TriangleMesh(vertices, faces)
    # A vertex that nothing uses, a triangle without an area, and three holes, two of which meet in a vertex.
    fan = np.flatnonzero((faces == faces[100, 0]).any(axis=1))
    gone = np.unique([7, fan[0], fan[2]])
    kept = np.concatenate([np.delete(faces, gone, axis=0), [[5, 5, 6]]])
    loose = np.concatenate([vertices, [[50.0, 0.0, 0.0]]])
    assert not thud.TriangleMesh(loose, kept).is_closed
    (points, triangles), holes = fill_holes(loose, kept)
    mesh = thud.TriangleMesh(points, triangles)
    assert holes == 2
    assert mesh.is_closed
    assert mesh.volume == pytest.approx(whole.volume, rel=1e-3)
    assert mesh.volume != whole.volume
    (same, _), none = fill_holes(vertices, faces)
    assert none == 0
    assert same is vertices
    # Triangle soup has no hole between triangles that share places.
    (_, soup), none = fill_holes(vertices[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3))
    assert (none, len(soup)) == (0, len(faces))


def test_an_open_scan_with_a_space_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As the Stanford bunny: float32, big-endian, five holes. It had no volume, and Figure 7 divided by it.
    vertices, faces = small_models()["bumpy"]
    faces = np.delete(faces, np.argsort(vertices[faces].mean(axis=1)[:, 2])[:12], axis=0)
    head = (
        f"ply\nformat binary_big_endian 1.0\nelement vertex {len(vertices)}\nproperty float x\nproperty float y\n"
        f"property float z\nelement face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    path = tmp_path / "a scan.ply"
    body = b"".join(struct.pack(">3f", *(0.08 * v + 0.1)) for v in vertices)
    path.write_bytes(head.encode() + body + b"".join(struct.pack(">B3i", 3, *map(int, f)) for f in faces))
    for figure in ("figure_9", "figure_10", "figure_11"):
        monkeypatch.setattr(f"reproductions.vogiannou.{figure}.run", lambda meshes, size, report: None)
    assert main(["vogiannou", "--size", "ci", "--model", str(path), "--out", str(tmp_path)]) == 0
    text = (tmp_path / "vogiannou.md").read_text()
    assert "holes filled, so that it has a volume: 1" in text
    with (tmp_path / "vogiannou.csv").open() as file:
        models = {row["model"] for row in csv.DictReader(file) if row["figure"] in ("7", "8")}
    assert models == {"a scan"}


def test_files_of_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / folder / "model.obj" for folder in ("first", "second")]
    for path in paths:
        path.parent.mkdir()
        vertices, faces = small_models()["bumpy"]
        path.write_text(
            "\n".join([*(f"v {x} {y} {z}" for x, y, z in vertices), *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces)])
        )
    seen: list[str] = []
    for figure in ("figure_7", "figure_8", "figure_9", "figure_10", "figure_11"):
        monkeypatch.setattr(f"reproductions.vogiannou.{figure}.run", lambda meshes, size, report: seen.append(sorted(meshes)))
    assert main(["vogiannou", *(word for path in paths for word in ("--model", str(path))), "--out", str(tmp_path)]) == 0
    assert seen == [[str(path) for path in paths]] * 5
