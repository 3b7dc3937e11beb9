"""Every technique of the slides "Collision Detection & Physics", one line each, in their order."""

from __future__ import annotations

from typing import Any

import numpy as np

import thud
from thud import geometry
from thud.bounds import fit_aabb, fit_obb, fit_sphere, overlap
from thud.partitions import BoxOctree, MeshBsp, MeshGrid


def run() -> dict[str, Any]:
    """Each answer under the slide's name."""
    rng = np.random.default_rng(0)
    told: dict[str, Any] = {}
    torus = ring(1.0, 0.35)
    points = rng.uniform(-1.5, 1.5, (2000, 3))
    corners = np.asarray(torus.vertices)[np.asarray(torus.faces)]
    rays = rng.uniform(-3, 3, (500, 3)), rng.normal(size=(500, 3))

    # Broad phase: game rules (layers), partitions, bounding volumes.
    world = thud.World(broadphase="sap")
    world.add_many(thud.Box((0.3, 0.3, 0.3)), thud.Pose(rng.uniform(0, 5, (80, 3))), layer=1, mask=0b110)
    told["sweep and prune"] = world.pairs()
    told["octree"] = BoxOctree(*world.bounds()).pairs()
    # Coherence: what a pair of meshes learned in one frame, it knows in the next.
    cache, near = thud.PairCache(), thud.Pose([[0.9 + 0.01 * k, 0, 0.5] for k in range(5)])
    told["coherence"] = [thud.intersects(torus, torus, None, pose, cache=cache)[0] for pose in near]
    # Narrow phase: polyhedra, separating planes.
    wedge = thud.ConvexHull(rng.normal(size=(20, 3)))
    places = thud.Pose(rng.uniform(-3, 3, (300, 3)))
    told["separating planes"] = thud.intersects(wedge, wedge, None, places, method="sat")
    # Bounding sphere, box, oriented box.
    ball, box, turned = fit_sphere(points), fit_aabb(points), fit_obb(corners.reshape(-1, 3), method="pca")
    told["bounding volumes"] = overlap(ball, turned), overlap(box, turned)
    told["clipping against a plane"] = geometry.sphere_plane(points, 0.2, [0, 0, 1, 0.5])
    frustum = geometry.frustum_planes([0, -4, 0], [0, 1, 0], [0, 0, 1], 0.4, 0.1, 10.0)
    told["viewing frustum"] = geometry.sphere_frustum(points, 0.1, frustum)
    told["viewing frustum, boxes"] = geometry.box_frustum(points - 0.1, points + 0.1, frustum)
    told["point in sphere"] = geometry.point_in_sphere(points, [0, 0, 0], 1.0)
    told["point in AABB"] = geometry.point_in_aabb(points, [-1, -1, -0.2], [1, 1, 0.2])
    told["OBB tree"] = thud.TriangleMesh(torus.vertices, torus.faces, bounding="obb", build="slides")
    # Points.
    hexagon = np.stack([np.cos(np.arange(6) * np.pi / 3), np.sin(np.arange(6) * np.pi / 3)], axis=1)
    told["point in convex polygon"] = geometry.point_in_convex_polygon(points[:, :2], hexagon)
    told["Jordan curve"] = geometry.point_in_polygon(points[:, :2], hexagon * np.where(np.arange(6) % 2, 0.5, 1.2)[:, None])
    told["point in convex object"] = thud.contains(wedge, points)
    sides = np.concatenate([np.eye(3), -np.eye(3)])  # of a cube: x <= 1 and so on, [A B C D] each
    told["planes of support"] = geometry.point_in_convex(points, np.column_stack([sides, -np.ones(6)]))
    corner = thud.Compound([thud.Box((1.0, 0.3, 0.3)), thud.Box((0.3, 1.0, 0.3))])  # concave: convex parts, or thud.decompose
    told["point in concave object"] = thud.contains(corner, points)
    told["3DDDA"] = MeshGrid(torus).contains(points)
    told["BSP triangle set"] = MeshBsp(torus).contains(points, method="slides")
    told["inside"] = thud.contains(torus, points)
    # Rays.
    told["ray-plane"] = geometry.ray_plane(*rays, [0, 0, 1, 0])
    told["ray-triangle"] = geometry.ray_triangle(*rays, [[0, 0, 0], [2, 0, 0], [0, 2, 0]])
    told["ray-AABB"] = geometry.ray_aabb(*rays, [-1, -1, -1], [1, 1, 1])
    told["ray-sphere"] = geometry.ray_sphere(*rays, [0, 0, 0], 1.0)
    told["ray-convex hull"] = thud.raycast(wedge, *rays)
    told["ray-general object"] = thud.raycast_all(torus, *rays)
    told["ray, cell by cell"] = MeshGrid(torus).raycast(*rays), thud.raycast(torus, *rays)
    # Moving tests, mesh against mesh.
    told["moving spheres"] = geometry.moving_sphere_sphere(points, 0.2, [0, 0, 0], 0.5, -2.0 * points)
    told["mesh vs. mesh"] = thud.triangle_pairs(torus, torus, None, thud.Pose([0.4, 0, 0]))
    # Swept volumes: of a box that flies and turns; boxes about it.
    told["swept volume"], _at = thud.shapes.sweep(thud.Box((0.3, 0.2, 0.1)), [2, 0, 0, 0, 0, 1.5])
    told["swept bounds"] = thud.shapes.swept_bounds(thud.Box((0.3, 0.2, 0.1)), [2, 0, 0, 0, 0, 1.5])
    # The player of an FPS: an ellipsoid that slides along what it meets; then gravity in a second call.
    room = thud.World()
    room.add(thud.Box((5, 5, 0.5)), thud.Pose([0, 0, -0.5]), static=True)
    room.add(thud.Box((0.2, 5, 1)), thud.Pose([2, 0, 1]), static=True)
    player = thud.dynamics.Character((0.4, 0.4, 0.9), (0, 0, 0.95), method="slides")
    told["FPS"] = [player.move(room, (0.1, 0.05, 0.0), 1 / 60).position[0] for _ in range(40)]
    # Physics: free fall by the slides' own Euler step, which lags behind y = g t^2 / 2 by g t h / 2.
    stone = thud.dynamics.RigidBodies.of_shapes(thud.Sphere(0.1), thud.Pose([0, 0, 10.0]))
    stone.step(1 / 60, gravity=(0, 0, -9.81), integrator="slides", steps=60)
    told["free fall"] = float(stone.r[0, 2])
    # Connected masses: a rope of sticks that hangs by one end.
    rope = thud.dynamics.rope((0, 0, 5), (2, 0, 5), 9, pinned=[0], method="slides")
    for _ in range(60):
        rope.step(thud.World(), 1 / 60)
    told["sticks"] = rope.position
    # Rotations in all forms; a body's point, inertia, and what turns it: r, v, A and L.
    pose = thud.Pose.from_euler([0, 0, 0], [0.1, 0.2, 0.3], "xyz")
    told["rotations"] = pose.quaternion, pose.rotation_vector, pose.rotation
    dumbbell = thud.dynamics.inertia_of_points([1.0, 1.0, 0.5], [(0, 0, 1), (0, 0, -1), (0.4, 0, 0)])
    told["inertia"] = dumbbell.inertia
    top = thud.dynamics.RigidBodies(dumbbell.mass, dumbbell.inertia, angular_velocity=(0.1, 0.0, 3.0))
    before = top.L.copy()
    top.step(1 / 240, integrator="slides", steps=240)
    told["simulation"] = before, top.L
    told["motion of a point"] = top.point_motion(0, (0, 0, 1.0))
    # What the slides leave out: contact, friction, rest.
    ground = thud.World()
    ground.add(thud.HalfSpace((0, 0, 1)), static=True)
    crate = ground.add(thud.Box((0.5, 0.5, 0.5)), thud.Pose([0, 0, 1.0]))
    for _ in range(120):
        ground.step(1 / 60)
    told["rest"] = float(ground.poses(crate)[0, 2])
    for name, answer in told.items():
        print(f"{name}: {len(answer)} rows" if isinstance(answer, (np.ndarray, list)) else f"{name}: {answer!r}")
    return told


def ring(radius: float, tube: float) -> thud.TriangleMesh:
    """A torus about z."""
    a, b = np.meshgrid(np.arange(36) * np.pi / 18, np.arange(18) * np.pi / 9, indexing="ij")
    across = radius + tube * np.cos(b)
    vertices = np.stack([across * np.cos(a), across * np.sin(a), tube * np.sin(b)], axis=-1).reshape(-1, 3)
    k, m = np.meshgrid(np.arange(36), np.arange(18), indexing="ij")
    p, q = 18 * k + m, 18 * k + (m + 1) % 18
    r, s = 18 * ((k + 1) % 36) + m, 18 * ((k + 1) % 36) + (m + 1) % 18
    return thud.TriangleMesh(vertices, np.concatenate([np.stack(f, -1).reshape(-1, 3) for f in ((p, r, s), (p, s, q))]))


def check(told: dict[str, Any]) -> None:
    """What is asked in two ways has one answer."""
    np.testing.assert_array_equal(told["sweep and prune"], told["octree"])
    for name in ("3DDDA", "BSP triangle set"):
        np.testing.assert_array_equal(told[name], told["inside"])
    walked, tree = told["ray, cell by cell"]
    np.testing.assert_allclose(walked.distance, tree.distance, atol=1e-9)
    assert all(told["bounding volumes"])
    # A box of half side 0.1 holds the ball of that radius.
    assert not (told["viewing frustum"] & ~told["viewing frustum, boxes"]).any()
    assert 0.0 < told["separating planes"].mean() < 1.0
    assert len(told["mesh vs. mesh"].row) > 10
    # The wall begins at x = 1.8, the player is 0.4 wide; along the wall it slides on.
    x, y, z = told["FPS"][-1]
    assert 1.35 < x < 1.41
    assert y > 1.8
    assert 0.85 < z < 0.95
    assert all(told["coherence"])
    assert told["point in concave object"].any()
    # The box reaches 0.36 m from its middle at most.
    bounds = told["swept bounds"]
    assert (np.asarray(told["swept volume"].bounds().lower) >= bounds.lower - 1e-3).all()
    assert bounds.upper[0, 0] < 2.37
    assert abs(told["free fall"] - (10.0 - 0.5 * 9.81 * (1.0 - 1 / 60))) < 1e-9
    lengths = np.linalg.norm(np.diff(told["sticks"], axis=0), axis=1)
    assert abs(lengths - 0.25).max() < 0.05
    # The minus sign that one slide lacks: an inertia has no negative moments.
    assert (np.linalg.eigvalsh(told["inertia"]) > 0.0).all()
    np.testing.assert_allclose(*told["simulation"], atol=1e-12)
    assert abs(told["rest"] - 0.5) < 0.01


if __name__ == "__main__":
    check(run())
