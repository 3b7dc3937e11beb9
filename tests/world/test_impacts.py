"""Impacts of a world: the same as of its pairs one by one; bullets as rays."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import thud
from tests.world.model import random_pose, some_shapes

MISS, HIT, AT_START = 0, 1, 2
SHAPES = some_shapes()


def random_world(seed: int, count: int, bullets: bool, **options: object) -> tuple[thud.World, list[dict]]:
    """A world of bodies that move and turn, and the list of them."""
    rng = np.random.default_rng(seed)
    world, bodies = thud.World(**options), []  # type: ignore[arg-type]
    for k in range(count):
        body = {
            "shape": SHAPES[rng.integers(len(SHAPES) - 1)],
            "pose": random_pose(rng, 2.5),
            "velocity": rng.normal(size=3) * rng.choice([0.0, 2.0, 10.0]),
            "angular_velocity": rng.normal(size=3) * rng.choice([0.0, 1.0, 6.0]),
            "bullet": bool(bullets and k % 4 == 0),
        }
        if body["bullet"]:
            # Through the middle of the crowd.
            body["velocity"] = -8.0 * body["pose"][:3]
        body["handle"] = world.add(**body)
        bodies.append(body)
    return world, bodies


@pytest.mark.parametrize("seed", range(3))
def test_impacts_are_those_of_the_pairs(seed: int) -> None:
    world, bodies = random_world(seed, 40, bullets=False)
    dt = 0.4
    found = world.impacts(dt)
    got = {(a, b): k for k, (a, b) in enumerate(zip(found.handle_a.tolist(), found.handle_b.tolist(), strict=True))}
    assert (np.diff(found.time) >= 0).all()
    hits = 0
    for x, y in combinations(bodies, 2):
        moves = [np.concatenate([dt * body["velocity"], dt * body["angular_velocity"]]) for body in (x, y)]
        one = thud.cast(x["shape"], y["shape"], x["pose"], y["pose"], *moves)
        if one.status[0] == MISS:
            assert (x["handle"], y["handle"]) not in got
            continue
        hits += 1
        k = got[x["handle"], y["handle"]]
        assert found.status[k] == one.status[0]
        for name in ("time", "point", "normal"):
            assert getattr(found, name)[k].tobytes() == getattr(one, name)[0].tobytes()
    assert hits == len(got)
    assert hits > 10


def test_bullets_are_rays() -> None:
    world, bodies = random_world(7, 40, bullets=True)
    dt = 0.4
    found = world.impacts(dt)
    got = {(a, b): k for k, (a, b) in enumerate(zip(found.handle_a.tolist(), found.handle_b.tolist(), strict=True))}
    hits = 0
    for x, y in combinations(bodies, 2):
        if not (x["bullet"] or y["bullet"]):
            continue
        ray, target = (x, y) if x["bullet"] else (y, x)
        way = dt * (ray["velocity"] - target["velocity"])
        origin, key = ray["pose"][:3], (x["handle"], y["handle"])
        length = np.linalg.norm(way)
        point = thud.Sphere(1e-9)
        if thud.intersects(point, target["shape"], thud.Pose(origin), target["pose"])[0]:
            assert found.status[got[key]] == AT_START
            continue
        hit = thud.raycast(target["shape"], origin, way, pose=target["pose"]) if length > 0 else None
        if hit is None or hit.distance[0] > length:
            assert key not in got
            continue
        hits += 1
        k = got[key]
        assert found.status[k] == HIT
        assert found.time[k] == pytest.approx(hit.distance[0] / length, abs=1e-14)
        np.testing.assert_allclose(found.point[k], hit.point[0] + found.time[k] * dt * target["velocity"], atol=1e-12)
        # From A to B: along the ray if A is the bullet.
        assert np.dot(found.normal[k], way) * (1 if x["bullet"] else -1) > 0
    assert hits > 3


def test_a_bullet_does_not_pass_a_thin_wall() -> None:
    sheet = thud.TriangleMesh([[-1, -1, 0], [1, -1, 0], [0, 1, 0.0]], [[0, 1, 2]])
    for wall in (sheet, thud.Box((1.0, 1.0, 1e-3)), thud.Compound([sheet])):
        for side in (1.0, -1.0):
            world = thud.World()
            target = world.add(wall, velocity=(0, 0, -side))
            ball = world.add(thud.Sphere(0.01), thud.Pose((0, 0, 50.0 * side)), velocity=(0, 0, -999.0 * side), bullet=True)
            found = world.impacts(0.1)
            assert found.handle_a.tolist() == [target]
            assert found.handle_b.tolist() == [ball]
            assert found.status[0] == HIT
            assert found.time[0] == pytest.approx(50.0 / 99.8, abs=2e-5)
            np.testing.assert_allclose(found.normal[0], (0, 0, side), atol=1e-12)


def test_bullets_at_rest_or_inside() -> None:
    world = thud.World()
    world.add(thud.Box((1.0, 1.0, 1.0)), velocity=(1, 0, 0))
    world.add(thud.Sphere(0.1), thud.Pose((0.95, 0, 0)), velocity=(1, 0, 0), bullet=True)
    world.add(thud.Sphere(0.1), thud.Pose((1.05, 0.5, 0)), velocity=(1, 0, 0), bullet=True)
    found = world.impacts(1.0)
    # Inside: at the start. Outside, its origin does not move towards the box (its surface overlaps, which a ray does not see).
    assert [(a & 0xFF, b & 0xFF) for a, b in zip(found.handle_a, found.handle_b, strict=True)] == [(0, 1)]
    assert found.status.tolist() == [AT_START]


def test_same_bytes_for_any_number_of_threads() -> None:
    one, two = (random_world(5, 60, bullets=True, threads=k)[0].impacts(0.5) for k in (1, 2))
    assert len(one.time) > 20
    for name in ("handle_a", "handle_b", "time", "point", "normal", "status"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
