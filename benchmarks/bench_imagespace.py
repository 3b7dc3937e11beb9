"""Closed meshes that change their shape at every frame, all pairs: images against trees that are rebuilt or refitted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks.families import blob
from benchmarks.harness import Contestant, Report
from thud.errors import ThudError
from thud.imagespace import interference
from thud.imagespace.candidates import box_pairs
from thud.imagespace.rasteriser import make_rasteriser

Floats = npt.NDArray[np.float64]
Pairs = set[tuple[int, int]]

#: (meshes, rings of each: 5,040 triangles with 36, rounds)
_SIZES = {"ci": (6, 6, 2), "small": (20, 36, 2), "standard": (100, 36, 5), "full": (100, 36, 11)}

#: Half a side of the cube that 100 meshes of radius about 1 lie in, metres: few, some and many pairs overlap.
_SPREADS = {"sparse": 14.0, "middle": 7.0, "dense": 4.5}


class _Frames:
    """The same meshes, frame after frame with other vertices, at rest in the world."""

    def __init__(self, count: int, rings: int, spread: float) -> None:
        rng = np.random.default_rng(0)
        kinds = [blob(rings, k) for k in range(min(count, 8))]
        self.places = rng.uniform(-spread, spread, (count, 3)) * (count / 100) ** (1 / 3)
        self.meshes = [
            thud.TriangleMesh(np.asarray(kinds[k % 8 % len(kinds)].vertices) + self.places[k], kinds[k % 8 % len(kinds)].faces)
            for k in range(count)
        ]
        for mesh in self.meshes:
            assert mesh.tree is not None
            assert mesh.topology.closed

    def vertices(self, frame: int) -> list[Floats]:
        """Of all meshes."""
        out = []
        for mesh, place in zip(self.meshes, self.places, strict=True):
            local = np.asarray(mesh.vertices) - place
            out.append(local * (1.0 + 0.15 * np.sin(3.0 * local[:, [1, 2, 0]] + 0.9 * frame)) + place)
        return out


def _boxes(vertices: list[Floats]) -> Floats:
    return np.array([[*v.min(axis=0), *v.max(axis=0)] for v in vertices])


def _tree_pairs(meshes: list[thud.TriangleMesh], vertices: list[Floats]) -> Pairs:
    """By the exact mesh test, for pairs whose boxes overlap."""
    return {(int(a), int(b)) for a, b in box_pairs(_boxes(vertices)) if thud.intersects(meshes[a], meshes[b])[0]}


def _image_pairs(frames: _Frames, vertices: list[Floats], *, new: bool = False, **options: Any) -> Pairs:
    """`new`: as if the faces were others in every frame, too."""
    both = zip(frames.meshes, vertices, strict=True)
    meshes = [thud.TriangleMesh(v, mesh.faces) if new else mesh.deformed(v) for mesh, v in both]
    return set(map(tuple, interference(meshes, **options).pairs.tolist()))


class _Coal:
    """coal's OBBRSS trees, made or refitted from arrays; pairs of boxes as ours, booleans without contacts."""

    def __init__(self, frames: _Frames) -> None:
        import coal

        self.coal, self.frames = coal, frames
        self.home = coal.Transform3s.Identity()
        self.models = [self._build(np.asarray(m.vertices), np.asarray(m.faces)) for m in frames.meshes]

    def _build(self, vertices: Floats, faces: Any) -> Any:
        model = self.coal.BVHModelOBBRSS()
        model.beginModel(len(faces), len(vertices))
        model.addVertices(vertices)
        model.addTriangles(faces)
        model.endModel()
        return model

    def rebuild(self, vertices: list[Floats]) -> Pairs:
        models = [self._build(v, np.asarray(m.faces)) for v, m in zip(vertices, self.frames.meshes, strict=True)]
        return self._ask(models, vertices)

    def _ask(self, models: list[Any], vertices: list[Floats]) -> Pairs:
        request, result = self.coal.CollisionRequest(), self.coal.CollisionResult()
        request.enable_contact = False
        found = set()
        for a, b in box_pairs(_boxes(vertices)).tolist():
            result.clear()
            if self.coal.collide(models[a], self.home, models[b], self.home, request, result):
                found.add((a, b))
        return found


def _ways(frames: _Frames) -> dict[str, Callable[[list[Floats]], Pairs]]:
    """By name, from the vertices of a frame to the pairs that overlap."""
    meshes = frames.meshes
    ways: dict[str, Callable[[list[Floats]], Pairs]] = {
        "thud, refit": lambda v: _tree_pairs([m.deformed(w) for m, w in zip(meshes, v, strict=True)], v),
        "thud, rebuild": lambda v: _tree_pairs([thud.TriangleMesh(w, m.faces) for m, w in zip(meshes, v, strict=True)], v),
        "thud, image 512": lambda v: _image_pairs(frames, v),
        "thud, image 512, new meshes": lambda v: _image_pairs(frames, v, new=True),
        "thud, image 512, 3 views": lambda v: _image_pairs(frames, v, views=3),
        "thud, image 512, exact": lambda v: _image_pairs(frames, v, exact=True),
        "thud, image 1024": lambda v: _image_pairs(frames, v, resolution=1024),
        "thud, image 1024, 3 views": lambda v: _image_pairs(frames, v, resolution=1024, views=3),
    }
    try:
        make_rasteriser("gl", None).release()
        ways["thud, image 512, gl"] = lambda v: _image_pairs(frames, v, backend="gl")
    except (ImportError, OSError, RuntimeError, ThudError) as error:
        print(f"OpenGL is left out: {error}")
    try:
        ways["coal OBBRSS, rebuild"] = _Coal(frames).rebuild
    except ImportError:
        print("coal is not installed: left out")
    return ways


def _frame_after_frame(way: Callable[[list[Floats]], Pairs], ready: list[list[Floats]]) -> Callable[[], Pairs]:
    """Each call has the next frame; all contestants have the same one in a round."""
    moment = itertools.count()
    return lambda: way(ready[next(moment) % len(ready)])


def run(size: str) -> None:
    """Per frame: new vertices of all meshes, then which pairs overlap. coal's Python interface replaces vertices one by one
    only, so that its trees are rebuilt, not refitted."""
    count, rings, rounds = _SIZES[size]
    report = Report("imagespace")
    for name, spread in _SPREADS.items():
        frames = _Frames(count, rings, spread)
        ways = _ways(frames)
        scene = f"{count} meshes of {len(np.asarray(frames.meshes[0].faces))} triangles, {name}"
        # Each run has a frame of its own; they are made beforehand, since deforming is the user's part.
        ready = [frames.vertices(k) for k in range(4)]
        contestants = [Contestant(way, _frame_after_frame(f, ready), 1) for way, f in ways.items()]
        reference = "coal OBBRSS, rebuild" if "coal OBBRSS, rebuild" in ways else "thud, rebuild"
        report.race(scene, "pairs, a frame", reference, contestants, rounds)
        exact = ways["thud, refit"](ready[0])
        report.note(scene, "pairs, a frame", f"{len(box_pairs(_boxes(ready[0])))} pairs of boxes, {len(exact)} pairs overlap")
        for way, f in ways.items():
            found = f(ready[0])
            text = f"{way}: {len(exact - found)} of them not found, {len(found - exact)} more found"
            report.note(scene, "pairs, a frame", text)
    _growth(report, size)
    report.save()


def _growth(report: Report, size: str) -> None:
    """With the number of meshes, at constant density."""

    def make(count: int) -> list[Contestant]:
        frames = _Frames(count, 6 if size == "ci" else 16, _SPREADS["middle"])
        ready = [frames.vertices(k) for k in range(2)]
        kept = ("thud, refit", "thud, rebuild", "thud, image 512", "coal OBBRSS, rebuild")
        return [Contestant(way, _frame_after_frame(f, ready), 1) for way, f in _ways(frames).items() if way in kept]

    numbers = [3, 6] if size == "ci" else [4, 13, 40, 126, 400]
    report.growth("meshes that change shape", "pairs, a frame", "meshes", "coal OBBRSS, rebuild", numbers, make, 3)
