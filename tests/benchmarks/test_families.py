"""Families of workloads: the same from the same seed, with the hit rates and shapes that their names say."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from benchmarks import families, harness
from benchmarks.memory import array_bytes


def _hit_rate(pairs: families.Pairs) -> float:
    hits = [thud.intersects(*partners, a, b) for partners, a, b in zip(pairs.partners, pairs.a, pairs.b, strict=True)]
    return float(np.mean(hits))


@pytest.mark.parametrize("make", [families.hulls, families.primitives])
def test_convex_pairs_have_their_hit_rate_and_are_seeded(make: object) -> None:
    first, again = (make(80, kinds=2) for _ in range(2))  # type: ignore[operator]
    assert len({pairs.name for pairs in first}) == len(first) > 8
    for pairs, same in zip(first, again, strict=True):
        assert (pairs.a == same.a).all()
        assert (pairs.b == same.b).all()
        assert _hit_rate(pairs) == pytest.approx(float(pairs.name.split()[-3]) / 100, abs=0.03)


def test_mesh_pairs_have_about_their_hit_rate() -> None:
    for pairs in families.mesh_pairs(300, 40):
        assert _hit_rate(pairs) == pytest.approx(float(pairs.name.split()[-3]) / 100, abs=0.15)


def test_a_scene_has_the_same_rows() -> None:
    pairs = families.primitives(20, kinds=2)[1]
    shapes, indices, poses = pairs.scene()
    one_by_one = np.concatenate(
        [thud.intersects(*partners, a, b) for partners, a, b in zip(pairs.partners, pairs.a, pairs.b, strict=True)]
    )
    assert (thud.intersects_pairs(shapes, indices, poses) == one_by_one).all()
    assert pairs.first(6).a.shape == (2, 3, 7)


def test_bodies_are_closed_or_open_and_face_outward() -> None:
    for body in families.bodies(600):
        mesh = body.mesh()
        assert mesh.is_closed == body.closed, body.name
        assert 300 < len(body.faces) < 900
        assert not body.closed or "inward" not in str(mesh.problems()), body.name


def test_rays_hit_and_miss_as_their_names_say() -> None:
    for rays in families.rays(600, 200):
        hits = thud.raycast(rays.body.mesh(), rays.origins, rays.directions).triangle >= 0
        if "inside" in rays.name:
            assert hits.all(), rays.name
        elif "outside" in rays.name:
            assert hits.mean() > 0.5, rays.name
        elif "most miss" in rays.name:
            assert hits.mean() < 0.5, rays.name


def test_array_bytes_counts_each_array_once() -> None:
    a = np.zeros(100)
    assert array_bytes({"x": a, "again": [a, a[:10]], "y": (np.zeros(3, dtype=np.float32),)}) == 812


def test_smallest_size_of_a_benchmark_runs(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import bench_gates

    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    bench_gates.run("ci")
    assert (tmp_path / "gates.csv").is_file()  # type: ignore[operator]
