"""The two scenes of section 5.2: 600 objects that fall towards a torus, and onto a plane. 14 seconds each.

There is no physics: the objects follow generated paths that keep them as the paper describes its own, falling together in close
proximity past the torus, and stacked on the plane, tumbling. Paths that ignore each other would run through each other, so in
each frame objects that collide are pushed apart a little until there are no more collisions than a frame of the paper has
(about 14,000 and 130,000 in 14 seconds, the static object's left out; we take 60 frames a second).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import thud

Floats = npt.NDArray[np.float64]

SECONDS = 14.0
#: The paper's collisions over all frames, at 60 frames a second.
PAPER = {"torus": 14_000, "torus, entangled": 14_000, "plane": 130_000}
FRAMES_A_SECOND = 60


@dataclass(frozen=True)
class Crowd:
    """Objects with the times and rates of their paths, in units of an object's radius."""

    scene: str
    which: npt.NDArray[np.int64]
    """(N,) model of each object."""
    lattice: Floats
    """(N, 3) places, to be multiplied by the spacing."""
    turn: Floats
    """(N, 4) orientation at the start, wxyz."""
    spin: Floats
    """(N, 3) rad/s."""
    phase: Floats
    """(N, 3) of a small wobble."""
    landing: Floats
    """(N,) seconds; plane scene."""

    def poses(self, time: float, spacing: float) -> Floats:
        """(N, 7) poses at a time."""
        wobble = 0.08 * np.sin(2.0 * time + self.phase)
        if self.scene != "plane":
            place = self.lattice * spacing + wobble
            place[:, 2] += 12.0 + (1.0 - time / SECONDS) * 16.0 - 16.0 * time / SECONDS
            place = _past_torus(place)
            age = np.full(len(place), time)
        else:
            # Fall freely, land, and lie; what has landed still rocks a little.
            rest = self.lattice * spacing
            early = np.maximum(self.landing - time, 0.0)
            place = rest + 0.25 * wobble
            place[:, 2] += 1.0 + 4.9 * early**2 * 0.5
            # Turning dies away after the landing.
            late = np.maximum(time - self.landing, 0.0)
            age = np.minimum(time, self.landing) + 0.5 * (1.0 - np.exp(-2.0 * late))
        return np.concatenate([place, _turned(self.turn, self.spin * age[:, None])], axis=1)


#: Radii of the torus, in radii of an object.
TORUS = (9.0, 2.0)


def _past_torus(place: Floats) -> Floats:
    """Push what would be in the torus out of it, to one side or the other."""
    major, minor = TORUS
    across = np.linalg.norm(place[:, :2], axis=1)
    u, z = across - major, place[:, 2]
    d = np.hypot(u, z)
    clear = minor + 0.9
    # From [0, 2 clear] to [clear, 2 clear].
    far = np.where(d < 2.0 * clear, clear + 0.5 * d, d)
    scale = far / np.maximum(d, 1e-9)
    out = place.copy()
    out[:, :2] *= ((major + u * scale) / np.maximum(across, 1e-9))[:, None]
    out[:, 2] = z * scale
    return out


def _turned(q: Floats, w: Floats) -> Floats:
    """Quaternions turned by rotation vectors."""
    angle = np.linalg.norm(w, axis=1, keepdims=True)
    r = np.concatenate([np.cos(0.5 * angle), np.sin(0.5 * angle) * w / np.maximum(angle, 1e-12)], axis=1)
    a, b = r[:, :1], r[:, 1:]
    c, d = q[:, :1], q[:, 1:]
    out = np.concatenate([a * c - (b * d).sum(axis=1, keepdims=True), a * d + c * b + np.cross(b, d)], axis=1)
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def crowd(scene: str, count: int, models: int, seed: int = 0) -> Crowd:
    """A crowd of `count` objects of `models` kinds in turn."""
    rng = np.random.default_rng(seed)
    layers = max(1, round(count / (200 if scene == "plane" else 100)))
    side = int(np.ceil(np.sqrt(count / layers)))
    cells = np.array([[x, y, z] for z in range(layers) for y in range(side) for x in range(side)], dtype=float)[:count]
    cells[:, :2] -= 0.5 * (side - 1)
    # Every other layer lies over the gaps of the one below, as a heap does.
    cells[:, :2] += 0.5 * (cells[:, 2:] % 2)
    cells += rng.uniform(-0.12, 0.12, cells.shape) * (1.0, 1.0, 0.5)
    q = rng.normal(size=(count, 4))
    return Crowd(
        scene, np.arange(count) % models, cells, q / np.linalg.norm(q, axis=1, keepdims=True), rng.normal(size=(count, 3)),
        rng.uniform(0.0, 2.0 * np.pi, (count, 3)), 1.0 + cells[:, 2] * 2.0 + rng.uniform(0.0, 1.0, count),
    )  # fmt: skip


def unit_radius(mesh: thud.TriangleMesh) -> thud.TriangleMesh:
    """The mesh moved and scaled so that its bounding sphere is that of radius 1 about the origin."""
    center, radius = mesh.bounding_sphere()
    return thud.TriangleMesh((np.asarray(mesh.vertices) - center) / radius, mesh.faces)


def static_object(scene: str) -> thud.TriangleMesh | thud.HalfSpace:
    """The torus, about the origin, or the plane z = 0."""
    if scene == "plane":
        return thud.HalfSpace((0.0, 0.0, 1.0), 0.0)
    major, minor = TORUS
    m, n = 96, 48
    u, v = np.meshgrid(np.arange(m) * 2 * np.pi / m, np.arange(n) * 2 * np.pi / n, indexing="ij")
    ring = major + minor * np.cos(v)
    points = np.stack([ring * np.cos(u), ring * np.sin(u), minor * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = (k.ravel() for k in np.meshgrid(np.arange(m), np.arange(n), indexing="ij"))
    a, b, c, d = i * n + j, ((i + 1) % m) * n + j, ((i + 1) % m) * n + (j + 1) % n, i * n + (j + 1) % n
    return thud.TriangleMesh(points, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]))
