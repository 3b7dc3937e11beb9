"""The peers, each at its best settings, called the way their Python users call them: once a pair.

Everything that can be made before the loop is made before the loop: geometries, transforms, requests, results. A shape that a
peer does not have is a `NotOffered`.
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

#: Most contact points asked of a peer, of two convex shapes and of two meshes. Ours gives up to 8 a patch; peers count those of
#: all pairs of triangles.
_POINTS, _MESH_POINTS = 8, 1_000_000


def _most_points(shapes: list[Shape]) -> int:
    return _MESH_POINTS if any(isinstance(shape, thud.TriangleMesh) for shape in shapes) else _POINTS


class NotOffered(Exception):
    """The peer has no such shape."""


class _Geometries:
    """Geometries of a peer, one a shape."""

    def __init__(self, make: Callable[[Shape], Any]) -> None:
        self.make, self.made = make, {}  # type: ignore[var-annotated]

    def __call__(self, shape: Shape) -> Any:
        if id(shape) not in self.made:
            self.made[id(shape)] = (self.make(shape), shape)
        return self.made[id(shape)][0]


def coal_mesh(vertices: Floats, faces: Ints, kind: str = "BVHModelOBBRSS") -> Any:
    """coal's tree of a mesh, from arrays."""
    import coal

    model = getattr(coal, kind)()
    model.beginModel(len(faces), len(vertices))
    model.addVertices(vertices)
    model.addTriangles(faces)
    model.endModel()
    return model


def fcl_mesh(vertices: Floats, faces: Ints) -> Any:
    """python-fcl's tree of a mesh."""
    import fcl

    model = fcl.BVHModel()
    model.beginModel(len(vertices), len(faces))
    model.addSubModel(vertices, faces)
    model.endModel()
    return model


def embree_scene(vertices: Floats, faces: Ints) -> Any:
    """embreex's scene of a mesh; it is built by the first rays."""
    from embreex import rtcore_scene
    from embreex.mesh_construction import TriangleMesh

    scene = rtcore_scene.EmbreeScene()
    TriangleMesh(scene, vertices.astype(np.float32), faces.astype(np.int32))
    return scene


class Coal:
    """coal, single calls; meshes as OBBRSS. Boolean: no contact request. Distance: unsigned (the signed one, `depth`, also runs
    EPA)."""

    name = "coal"

    def __init__(self, shapes: list[Shape], pairs: Ints, poses: Floats) -> None:
        import coal

        self.coal, self.most = coal, _most_points(shapes[:2])
        geometries = _Geometries(self.geometry)
        transforms = [coal.Transform3s(row[:9].reshape(3, 3), row[9:]) for row in poses]
        self.calls = [(geometries(shapes[a]), transforms[a], geometries(shapes[b]), transforms[b]) for a, b in pairs.tolist()]

    @staticmethod
    def geometry(shape: Shape) -> Any:
        """coal's own of one of our shapes."""
        import coal

        if isinstance(shape, thud.Sphere):
            return coal.Sphere(shape.radius)
        if isinstance(shape, thud.Capsule):
            return coal.Capsule(shape.radius, 2.0 * shape.half_length)
        if isinstance(shape, thud.Cylinder):
            return coal.Cylinder(shape.radius, 2.0 * shape.half_length)
        if isinstance(shape, thud.Cone):
            return coal.Cone(shape.radius, 2.0 * shape.half_length)
        if isinstance(shape, thud.Ellipsoid):
            return coal.Ellipsoid(*np.asarray(shape.radii))
        if isinstance(shape, thud.Box):
            return coal.Box(*(2.0 * np.asarray(shape.half_extents)))
        if isinstance(shape, thud.TriangleMesh):
            return coal_mesh(np.asarray(shape.vertices), np.asarray(shape.faces))
        if not isinstance(shape, thud.ConvexHull):
            raise NotOffered(type(shape).__name__)
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

    def distance(self, signed: bool = False) -> Floats:
        measure, result = self.coal.distance, self.coal.DistanceResult()
        request = self.coal.DistanceRequest()
        request.enable_signed_distance = signed
        distances = []
        for a, ta, b, tb in self.calls:
            result.clear()
            distances.append(measure(a, ta, b, tb, request, result))
        return np.array(distances)

    def depth(self) -> Floats:
        return self.distance(True)

    def contacts(self) -> Ints:
        """How many points each pair has: coal gives one a pair of convex shapes."""
        collide, result = self.coal.collide, self.coal.CollisionResult()
        request = self.coal.CollisionRequest()
        request.enable_contact, request.num_max_contacts = True, self.most
        counts = []
        for a, ta, b, tb in self.calls:
            result.clear()
            collide(a, ta, b, tb, request, result)
            counts.append(result.numContacts())
        return np.array(counts)


class Fcl:
    """python-fcl, single calls; placed objects are made before. A boolean stops at the first contact."""

    name = "python-fcl"

    def __init__(self, shapes: list[Shape], pairs: Ints, poses: Floats) -> None:
        import fcl

        self.fcl, self.most = fcl, _most_points(shapes[:2])
        geometries = _Geometries(self.geometry)
        objects = [
            fcl.CollisionObject(geometries(shape), fcl.Transform(row[:9].reshape(3, 3), row[9:]))
            for shape, row in zip(shapes, poses, strict=True)
        ]
        self.calls = [(objects[a], objects[b]) for a, b in pairs.tolist()]

    @staticmethod
    def geometry(shape: Shape) -> Any:
        """python-fcl's own of one of our shapes."""
        import fcl

        if isinstance(shape, thud.Sphere):
            return fcl.Sphere(shape.radius)
        if isinstance(shape, thud.Capsule):
            return fcl.Capsule(shape.radius, 2.0 * shape.half_length)
        if isinstance(shape, thud.Cylinder):
            return fcl.Cylinder(shape.radius, 2.0 * shape.half_length)
        if isinstance(shape, thud.Cone):
            return fcl.Cone(shape.radius, 2.0 * shape.half_length)
        if isinstance(shape, thud.Ellipsoid):
            return fcl.Ellipsoid(*np.asarray(shape.radii))
        if isinstance(shape, thud.Box):
            return fcl.Box(*(2.0 * np.asarray(shape.half_extents)))
        if isinstance(shape, thud.TriangleMesh):
            return fcl_mesh(np.asarray(shape.vertices), np.asarray(shape.faces))
        if not isinstance(shape, thud.ConvexHull):
            raise NotOffered(type(shape).__name__)
        triangles = shape.topology.triangles
        faces = np.concatenate([np.full((len(triangles), 1), 3), triangles], axis=1).ravel()
        return fcl.Convex(np.array(shape.vertices), len(triangles), faces)

    def boolean(self) -> npt.NDArray[np.bool_]:
        collide, request = self.fcl.collide, self.fcl.CollisionRequest()
        hits = []
        for a, b in self.calls:
            hits.append(collide(a, b, request, self.fcl.CollisionResult()))
        return np.array(hits) > 0

    def distance(self, signed: bool = False) -> Floats:
        measure, request = self.fcl.distance, self.fcl.DistanceRequest(enable_signed_distance=signed)
        distances = []
        for a, b in self.calls:
            distances.append(measure(a, b, request, self.fcl.DistanceResult()))
        return np.array(distances)

    def depth(self) -> Floats:
        return self.distance(True)

    def contacts(self) -> Ints:
        """How many points each pair has."""
        collide = self.fcl.collide
        request = self.fcl.CollisionRequest(num_max_contacts=self.most, enable_contact=True)
        counts = []
        for a, b in self.calls:
            result = self.fcl.CollisionResult()
            collide(a, b, request, result)
            counts.append(len(result.contacts))
        return np.array(counts)


class Bullet:
    """pybullet: one body a shape, put in place before the loop; getClosestPoints a pair."""

    name = "pybullet"

    def __init__(self, shapes: list[Shape], pairs: Ints, poses: Floats) -> None:
        import pybullet

        self.bullet = pybullet
        self.client = pybullet.connect(pybullet.DIRECT)
        geometries = _Geometries(self.geometry)
        pose = thud.Pose.from_rows(poses)
        bodies = []
        try:
            for shape, at, turn in zip(shapes, pose.position.tolist(), pose.xyzw.tolist(), strict=True):
                bodies.append(
                    pybullet.createMultiBody(
                        0, geometries(shape), basePosition=at, baseOrientation=turn, physicsClientId=self.client
                    )
                )
        except NotOffered:
            self.close()
            raise
        self.calls = [(bodies[a], bodies[b]) for a, b in pairs.tolist()]

    def geometry(self, shape: Shape) -> int:
        """pybullet's own of one of our shapes."""
        make, bullet = self.bullet.createCollisionShape, self.bullet
        client = {"physicsClientId": self.client}
        if isinstance(shape, thud.Sphere):
            return make(bullet.GEOM_SPHERE, radius=shape.radius, **client)
        if isinstance(shape, thud.Capsule):
            return make(bullet.GEOM_CAPSULE, radius=shape.radius, height=2.0 * shape.half_length, **client)
        if isinstance(shape, thud.Cylinder):
            return make(bullet.GEOM_CYLINDER, radius=shape.radius, height=2.0 * shape.half_length, **client)
        if isinstance(shape, thud.Box):
            return make(bullet.GEOM_BOX, halfExtents=np.asarray(shape.half_extents).tolist(), **client)
        if not isinstance(shape, thud.ConvexHull):
            raise NotOffered(type(shape).__name__)
        return make(bullet.GEOM_MESH, vertices=shape.vertices.tolist(), **client)

    def boolean(self) -> npt.NDArray[np.bool_]:
        return self.contacts() > 0

    def contacts(self) -> Ints:
        """How many points each pair has."""
        closest, client = self.bullet.getClosestPoints, self.client
        counts = []
        for a, b in self.calls:
            counts.append(len(closest(a, b, 0.0, physicsClientId=client)))
        return np.array(counts)

    def depth(self) -> Floats:
        closest, client = self.bullet.getClosestPoints, self.client
        distances = []
        for a, b in self.calls:
            points = closest(a, b, 1e3, physicsClientId=client)
            distances.append(min(point[8] for point in points) if points else np.inf)
        return np.array(distances)

    def distance(self) -> Floats:
        return np.maximum(self.depth(), 0.0)

    def close(self) -> None:
        self.bullet.disconnect(self.client)


_MODULES = {"coal": "coal", "python-fcl": "fcl", "pybullet": "pybullet", "trimesh": "trimesh", "embreex": "embreex"}


def available(*classes: Any) -> list[Any]:
    """Those peers whose package is installed; says which are not."""
    present = []
    for peer in classes:
        try:
            __import__(_MODULES[peer.name])
            present.append(peer)
        except ImportError:
            print(f"{peer.name} is not installed: pip install -e '.[bench]'")
    return present


def installed(module: str) -> bool:
    """Whether a peer's module can be imported."""
    try:
        __import__(module)
    except ImportError:
        print(f"{module} is not installed: left out")
        return False
    return True
