"""The peers, each at its best settings, called the way their Python users call them: once a pair.

Everything that can be made before the loop is made before the loop: geometries, transforms, requests, results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Coal:
    """coal, single calls. Boolean: no contact request. Distance: unsigned (the signed one also runs EPA)."""

    name = "coal"

    def __init__(self, shapes: list[Shape], pairs: Ints, poses: Floats) -> None:
        import coal

        self.coal = coal
        geometries = [self._geometry(shape) for shape in shapes]
        transforms = [coal.Transform3s(row[:9].reshape(3, 3), row[9:]) for row in poses]
        self.calls = [(geometries[a], transforms[a], geometries[b], transforms[b]) for a, b in pairs.tolist()]

    def place(self, hulls: list[Shape], moves: Ints, poses: Floats) -> None:
        """Calls of hulls 2k and 2k + 1 in turn, at the poses that `moves` names."""
        geometries = [self._geometry(hull) for hull in hulls]
        transforms = [self.coal.Transform3s(row[:9].reshape(3, 3), row[9:]) for row in poses]
        half = len(hulls) // 2
        self.calls = [
            (geometries[2 * (i % half)], transforms[a], geometries[2 * (i % half) + 1], transforms[b])
            for i, (a, b) in enumerate(moves.tolist())
        ]

    def _geometry(self, shape: Shape) -> Any:
        coal = self.coal
        if isinstance(shape, thud.Sphere):
            return coal.Sphere(shape.radius)
        if isinstance(shape, thud.Capsule):
            return coal.Capsule(shape.radius, 2.0 * shape.half_length)
        if isinstance(shape, thud.Box):
            return coal.Box(*(2.0 * np.asarray(shape.half_extents)))
        assert isinstance(shape, thud.ConvexHull)
        points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in shape.vertices:
            points.append(vertex)
        for a, b, c in shape.topology.triangles.tolist():
            faces.append(coal.Triangle(a, b, c))
        return coal.Convex(points, faces)

    def boolean(self) -> npt.NDArray[np.bool_]:
        collide, result = self.coal.collide, self.coal.CollisionResult()
        request = self.coal.CollisionRequest()
        request.enable_contact = False
        hits = []
        for a, ta, b, tb in self.calls:
            result.clear()
            hits.append(collide(a, ta, b, tb, request, result))
        return np.array(hits) > 0

    def distance(self) -> Floats:
        measure, result = self.coal.distance, self.coal.DistanceResult()
        request = self.coal.DistanceRequest()
        request.enable_signed_distance = False
        distances = []
        for a, ta, b, tb in self.calls:
            result.clear()
            distances.append(measure(a, ta, b, tb, request, result))
        return np.array(distances)


class Fcl:
    """python-fcl, single calls."""

    name = "python-fcl"

    def __init__(self, shapes: list[Shape], pairs: Ints, poses: Floats) -> None:
        import fcl

        self.fcl = fcl
        geometries = [self._geometry(shape) for shape in shapes]
        objects = [
            fcl.CollisionObject(geometry, fcl.Transform(row[:9].reshape(3, 3), row[9:]))
            for geometry, row in zip(geometries, poses, strict=True)
        ]
        self.calls = [(objects[a], objects[b]) for a, b in pairs.tolist()]

    def _geometry(self, shape: Shape) -> Any:
        fcl = self.fcl
        if isinstance(shape, thud.Sphere):
            return fcl.Sphere(shape.radius)
        if isinstance(shape, thud.Capsule):
            return fcl.Capsule(shape.radius, 2.0 * shape.half_length)
        if isinstance(shape, thud.Box):
            return fcl.Box(*(2.0 * np.asarray(shape.half_extents)))
        assert isinstance(shape, thud.ConvexHull)
        triangles = shape.topology.triangles
        faces = np.concatenate([np.full((len(triangles), 1), 3), triangles], axis=1).ravel()
        return fcl.Convex(np.array(shape.vertices), len(triangles), faces)

    def boolean(self) -> npt.NDArray[np.bool_]:
        collide, request = self.fcl.collide, self.fcl.CollisionRequest()
        hits = []
        for a, b in self.calls:
            hits.append(collide(a, b, request, self.fcl.CollisionResult()))
        return np.array(hits) > 0

    def distance(self) -> Floats:
        measure, request = self.fcl.distance, self.fcl.DistanceRequest()
        distances = []
        for a, b in self.calls:
            distances.append(measure(a, b, request, self.fcl.DistanceResult()))
        return np.array(distances)


class Bullet:
    """pybullet: one body a shape, put in place before the loop; getClosestPoints a pair."""

    name = "pybullet"

    def __init__(self, shapes: list[Shape], pairs: Ints, poses: Floats) -> None:
        import pybullet

        self.bullet = pybullet
        self.client = pybullet.connect(pybullet.DIRECT)
        pose = thud.Pose.from_rows(poses)
        quaternions = np.roll(pose.quaternion, -1, axis=1)
        bodies = []
        for k, shape in enumerate(shapes):
            collision = self._geometry(shape)
            bodies.append(
                pybullet.createMultiBody(
                    0,
                    collision,
                    basePosition=pose.position[k].tolist(),
                    baseOrientation=quaternions[k].tolist(),
                    physicsClientId=self.client,
                )
            )
        self.calls = [(bodies[a], bodies[b]) for a, b in pairs.tolist()]

    def _geometry(self, shape: Shape) -> int:
        make, bullet = self.bullet.createCollisionShape, self.bullet
        client = {"physicsClientId": self.client}
        if isinstance(shape, thud.Sphere):
            return make(bullet.GEOM_SPHERE, radius=shape.radius, **client)
        if isinstance(shape, thud.Capsule):
            return make(bullet.GEOM_CAPSULE, radius=shape.radius, height=2.0 * shape.half_length, **client)
        if isinstance(shape, thud.Box):
            return make(bullet.GEOM_BOX, halfExtents=np.asarray(shape.half_extents).tolist(), **client)
        assert isinstance(shape, thud.ConvexHull)
        return make(bullet.GEOM_MESH, vertices=shape.vertices.tolist(), **client)

    def boolean(self) -> npt.NDArray[np.bool_]:
        closest, client = self.bullet.getClosestPoints, self.client
        hits = []
        for a, b in self.calls:
            hits.append(len(closest(a, b, 0.0, physicsClientId=client)))
        return np.array(hits) > 0

    def distance(self) -> Floats:
        closest, client = self.bullet.getClosestPoints, self.client
        distances = []
        for a, b in self.calls:
            points = closest(a, b, 1e3, physicsClientId=client)
            distances.append(min(point[8] for point in points) if points else np.inf)
        return np.maximum(distances, 0.0)

    def close(self) -> None:
        self.bullet.disconnect(self.client)


def available(*classes: type) -> list[Callable[..., Any]]:
    """Those peers whose package is installed; says which are not."""
    present = []
    for peer in classes:
        module = {"coal": "coal", "python-fcl": "fcl", "pybullet": "pybullet"}[peer.name]
        try:
            __import__(module)
            present.append(peer)
        except ImportError:
            print(f"{peer.name} is not installed: pip install -e '.[bench]'")
    return present
