"""Particles: first impacts beside NumPy, over numbers of particles and colliders; bouncing spheres beside pybullet; the
impact map in OpenGL beside Numba. One thread unless it says otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.asking import repeated
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.numpy_particles import first_impacts
from thud import particles as p

#: (numbers of particles, of colliders, most pairs for NumPy, rounds, spheres and seconds for pybullet)
_SIZES: dict[str, Any] = {
    "ci": ([2_000], [1, 20], 10**6, 1, (200, 1.0)),
    "standard": ([10**4, 10**5, 10**6, 10**7], [1, 10, 100, 1_000], 2 * 10**8, 5, (10_000, 10.0)),
    "full": ([10**4, 10**5, 10**6, 10**7], [1, 10, 100, 1_000], 10**10, 7, (10_000, 10.0)),
}

#: Hail falls over a square of this side, metres, from these heights, for so long.
SIDE, LOW, HIGH, LIFE = 20.0, 10.0, 20.0, 3.0


def colliders(count: int, kinds: str, seed: int = 0) -> list[Any]:
    """Roofs, discs, boulders, cans and cones over the square; as many as there are, so small that half of the hail hits one."""
    rng = np.random.default_rng(seed)
    size = 0.5 * SIDE / np.sqrt(count)
    made = []
    for k in range(count):
        at = np.array([*rng.uniform(-0.5 * SIDE + size, 0.5 * SIDE - size, size=2), rng.uniform(0.0, 5.0)])
        kind = k % len(kinds)
        if kinds[kind] == "r":
            tilt = rng.uniform(-0.3, 0.3, size=2) * size
            u, v = np.array([2.0 * size, 0.0, tilt[0]]), np.array([0.0, 2.0 * size, tilt[1]])
            made.append(p.Rectangle(at - 0.5 * (u + v), u, v))
        elif kinds[kind] == "d":
            made.append(p.Disc(at, [*rng.uniform(-0.3, 0.3, size=2), 1.0], size))
        elif kinds[kind] == "e":
            made.append(p.Quadric.ellipsoid(at, size * rng.uniform(0.5, 1.0, size=3)))
        elif kinds[kind] == "c":
            turn = [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]
            made.append(p.Quadric.cylinder(at, 0.5 * size, size, rotation=turn))
        else:
            made.append(p.Quadric.cone(at, 0.7, size))
    return made


def hail(count: int, curved: bool, seed: int = 1) -> tuple[Any, Any, Any]:
    """Starts, velocities and accelerations."""
    rng = np.random.default_rng(seed)
    x = rng.uniform([-0.5 * SIDE, -0.5 * SIDE, LOW], [0.5 * SIDE, 0.5 * SIDE, HIGH], size=(count, 3))
    v = rng.normal(size=(count, 3)) * 0.5 + [0.0, 0.0, -10.0]
    return x, v, np.tile([0.3, 0.0, -9.81], (count, 1)) if curved else None


def race(report: Report, scene: str, made: list[Any], x: Any, v: Any, a: Any, rounds: int, numpy: bool) -> float:
    """One race; returns our microseconds a pair."""
    elements = [(k, e) for k, c in enumerate(made) for e in c.elements()]
    ready, system = p.ColliderSet(made), p.ParticleSystem(x, v, a, lifetime=LIFE)
    n, pairs = len(x), len(x) * len(made)
    run = Contestant("thud", lambda: system.impacts(ready, 0.0, LIFE, threads=1), pairs)
    if not numpy:
        report.race(scene, "first impacts, a pair", "thud", [run], rounds)
        return report.rows[-1].microseconds
    plain = Contestant("NumPy", lambda: first_impacts(elements, x, v, a, LIFE), pairs)
    report.race(scene, "first impacts, a pair", "NumPy", [plain, run], rounds)
    ours = report.rows[-1].microseconds
    mine, theirs = system.impacts(ready, 0.0, LIFE, threads=1), first_impacts(elements, x, v, a, LIFE)
    got, want, t0, t1 = np.full(n, -1), np.full(n, -1), np.zeros(n), np.zeros(n)
    got[mine.particle], want[theirs[0]], t0[mine.particle], t1[theirs[0]] = mine.collider, theirs[1], mine.time, theirs[2]
    far = np.abs(t0 - t1)[got == want].max(initial=0.0)
    report.note(scene, "agreement", f"{len(mine)} impacts; {int((got != want).sum())} differ; times within {far:.1e} s")
    return ours


def first_hits(report: Report, size: str) -> None:
    """Over numbers of particles and colliders."""
    particles, collider_counts, most, rounds, _ = _SIZES[size]
    # What NumPy needs for a pair, in those of a plane: the eigenvalues of a quartic's matrix take 50.
    for kinds, curved, label, cost in (
        ("rdeco", False, "first order", 1),
        ("rd", True, "second order, planes", 1),
        ("eco", True, "second order, quadrics", 50),
    ):
        for count in collider_counts:
            made = colliders(count, kinds)
            times = []
            for n in particles if not curved else particles[:2]:
                x, v, a = hail(n, curved)
                scene = f"{n} particles, {count} colliders, {label}"
                pairs = n * count * cost
                ours = race(report, scene, made, x, v, a, rounds if pairs < most // 10 else min(rounds, 3), pairs <= most)
                report.note(scene, "rate", f"{1.0 / ours:.1f} million pairs a second and thread")
                times.append((n, ours * n * count * 1e-6))
            if not curved:
                report.slopes(label, f"first impacts on {count} colliders", "particles", {"thud": times})


def small_calls(report: Report, size: str) -> None:
    """One particle and a thousand; "first call" makes the system and the colliders of plain arrays, too."""
    rounds, times = _SIZES[size][3], 5 if size == "ci" else 200
    for n in (1, 1000):
        x, v, a = hail(n, True)

        def first(x: Any = x, v: Any = v, a: Any = a) -> object:
            made = [p.Rectangle([k, -10.0, 1.0], [0.9, 0.0, 0.1], [0.0, 20.0, 0.0]) for k in range(-5, 5)]
            return p.ParticleSystem(x, v, a, lifetime=LIFE).impacts(made, 0.0, LIFE, threads=1)

        made = [p.Rectangle([k, -10.0, 1.0], [0.9, 0.0, 0.1], [0.0, 20.0, 0.0]) for k in range(-5, 5)]
        elements = [(k, e) for k, c in enumerate(made) for e in c.elements()]
        ready, system = p.ColliderSet(made), p.ParticleSystem(x, v, a, lifetime=LIFE)
        runs: dict[str, Callable[[], object]] = {
            "NumPy": lambda x=x, v=v, a=a, e=elements: first_impacts(e, x, v, a, LIFE),
            "thud, first call": first,
            "thud, again": lambda s=system, r=ready: s.impacts(r, 0.0, LIFE, threads=1),
        }
        contestants = [Contestant(name, repeated(run, times), times) for name, run in runs.items()]
        report.race(f"{n} particles, 10 rectangles, second order", "one call", "NumPy", contestants, max(2, rounds))


def spheres(report: Report, size: str) -> None:
    """Bouncing spheres on static colliders, beside pybullet."""
    count, seconds = _SIZES[size][4]
    scene = f"{count} bouncing spheres, 20 static colliders, {seconds:g} s"
    rng = np.random.default_rng(5)
    x = rng.uniform([-8, -8, 6], [8, 8, 14], size=(count, 3))
    v = rng.normal(size=(count, 3)) * [1.0, 1.0, 0.5]
    boxes = [(rng.uniform([-8, -8, 0], [8, 8, 4]), rng.uniform(0.3, 1.5, size=3)) for _ in range(10)]
    balls = [(rng.uniform([-8, -8, 0], [8, 8, 4]), float(rng.uniform(0.5, 1.5))) for _ in range(9)]

    def ours() -> int:
        import thud

        made = [p.Solid(thud.Box(h), thud.Pose(c)) for c, h in boxes] + [p.Quadric.ellipsoid(c, r) for c, r in balls]
        made.append(p.Plane([0, 0, 0], [0, 0, 1]))
        system = p.ParticleSystem(x, v, [0, 0, -9.81], lifetime=seconds, response="bounce", bounces=50)
        return len(system.impacts(made, 0.0, seconds, threads=1))

    def bullet() -> int:
        import pybullet as b

        client = b.connect(b.DIRECT)
        b.setGravity(0, 0, -9.81)
        b.setPhysicsEngineParameter(fixedTimeStep=1.0 / 240.0, numSolverIterations=4)
        for c, h in boxes:
            b.createMultiBody(0, b.createCollisionShape(b.GEOM_BOX, halfExtents=h.tolist()), basePosition=c.tolist())
        for c, r in balls:
            b.createMultiBody(0, b.createCollisionShape(b.GEOM_SPHERE, radius=r), basePosition=c.tolist())
        b.createMultiBody(0, b.createCollisionShape(b.GEOM_PLANE))
        small = b.createCollisionShape(b.GEOM_SPHERE, radius=0.01)
        # Spheres pass through each other, as particles do; maximal coordinates are the fast ones for single bodies.
        first = b.getNumBodies()
        for k in range(count):
            body = b.createMultiBody(0.01, small, basePosition=x[k].tolist(), useMaximalCoordinates=1)
            b.resetBaseVelocity(body, v[k].tolist())
            b.changeDynamics(body, -1, restitution=0.5)
            b.setCollisionFilterGroupMask(body, -1, 2, 1)
        for body in range(first):
            b.changeDynamics(body, -1, restitution=1.0)
        for _ in range(round(240 * seconds)):
            b.stepSimulation()
        b.disconnect(client)
        return 0

    begin = time.perf_counter()
    bullet()
    slow = time.perf_counter() - begin
    ours()
    fast = []
    for _ in range(5):
        begin = time.perf_counter()
        impacts = ours()
        fast.append(time.perf_counter() - begin)
    quick = float(np.median(fast))
    print(f"\n{scene}")
    report.note(scene, "pybullet at 240 Hz", f"{slow:.2f} s, of which nothing tells when a sphere hit")
    report.note(scene, "thud", f"{quick * 1e3:.1f} ms with {impacts} impacts at their times: {slow / quick:.0f}x")


def late_windows(report: Report, size: str) -> None:
    """Windows of one second in the order of time, of particles that have bounced since 0."""
    floor = p.ColliderSet([p.Plane([0, 0, 0], [0, 0, 1], restitution=1.0)])
    rng = np.random.default_rng(7)
    x = np.column_stack([np.zeros((200, 2)), rng.uniform(0.5, 2.0, 200)])
    system = p.ParticleSystem(x, [0, 0, 0], [0, 0, -9.81], response="bounce", bounces=10**9)
    last = 50 if size == "ci" else 5000
    scene = f"200 elastic bouncers, windows of 1 s up to {last} s"
    print(f"\n{scene}")
    taken = []
    for k in range(last):
        begin = time.perf_counter()
        system.impacts(floor, float(k), k + 1.0, threads=1)
        taken.append(time.perf_counter() - begin)
    few = max(5, last // 50)
    early, late = float(np.median(taken[1 : few + 1])), float(np.median(taken[-few:]))
    report.note(scene, "in order", f"{early * 1e3:.2f} ms a window at the start, {late * 1e3:.2f} ms at the end")
    begin = time.perf_counter()
    alone = p.ParticleSystem(x, [0, 0, 0], [0, 0, -9.81], response="bounce", bounces=10**9)
    alone.impacts(floor, last - 1.0, float(last), threads=1)
    report.note(scene, "the last one alone", f"{(time.perf_counter() - begin) * 1e3:.0f} ms: all since birth")


def other_kinds(report: Report, size: str) -> None:
    """Hail on what is not made of planes and quadrics: a path each, most of which hit."""
    import thud
    from reproductions.models import bumpy

    n = 2_000 if size == "ci" else 50_000
    rng = np.random.default_rng(3)
    x = rng.uniform([-1.0, -1.0, 4.0], [1.0, 1.0, 6.0], size=(n, 3))
    v = rng.normal(size=(n, 3)) * 0.1 + [0.0, 0.0, -5.0]
    lots = bumpy(500 if size == "ci" else 8_750)
    mesh = thud.TriangleMesh(lots[0] / np.abs(lots[0]).max(), lots[1])
    grid = np.linspace(0.0, 12.0, 65 if size == "ci" else 257)
    hills = thud.terrain.from_heights(0.3 * np.sin(grid)[:, None] * np.cos(1.3 * grid), spacing=2.4 / (len(grid) - 1)).surface
    at = thud.Pose([-1.2, -1.2, 0.0])
    balls = rng.uniform(-0.8, 0.8, size=(200, 3))

    def round_box(q: Any) -> Any:
        """Signed distance of a box of half side 0.6, its edges rounded by 0.2."""
        beyond = np.maximum(np.abs(q) - 0.6, 0.0)
        return np.linalg.norm(beyond, axis=1) + np.minimum(np.abs(q).max(axis=1) - 0.6, 0.0) - 0.2

    for name, collider in (
        (f"mesh of {len(lots[1])} triangles", p.Mesh(mesh)),
        ("12 balls", p.Blobs(balls[:12], 0.6)),
        ("200 balls", p.Blobs(balls, 0.3)),
        ("6,000 tetrahedra, degree 2", p.ImplicitPatches.from_field(round_box, [-1.0] * 3, [1.0] * 3, 0.2)),
        (f"terrain of {len(grid)} x {len(grid)} samples", p.Surface(hills, at)),
    ):
        contestants = []
        for label, a in (("straight", None), ("parabola", [0.0, 0.0, -9.81])):
            system = p.ParticleSystem(x, v, a, lifetime=2.0)
            ready = p.ColliderSet([collider])

            def go(system: p.ParticleSystem = system, ready: p.ColliderSet = ready) -> object:
                return system.impacts(ready, 0.0, 2.0, threads=1)

            contestants.append(Contestant(label, go, n))
        report.race(name, "first impacts, a particle", "straight", contestants, _SIZES[size][3])
        report.note(name, "hits", f"{len(system.impacts(ready, 0.0, 2.0)) / n:.0%} hit")


def opengl(report: Report, size: str) -> None:
    """Impact maps by OpenGL and by Numba: the same content, but for impacts at the border of two pixels."""
    n = 2_000 if size == "ci" else 100_000
    made = colliders(10, "rdeco")
    x, v, a = hail(n, True)
    system = p.ParticleSystem(x, v, a, lifetime=LIFE, response="bounce", bounces=3, seed=2, position_spread=0.5, rest="stop")
    both = [
        Contestant(
            name, lambda name=name: p.impact_map(system, made, 0.0, LIFE, resolution=256, combine="add", backend=name), n
        )
        for name in ("numba", "gl")
    ]
    report.race(f"impact maps of {n} particles", "map of 10 colliders, a particle", "numba", both, _SIZES[size][3])
    one, other = (
        p.impact_map(system, made, 0.0, LIFE, resolution=256, combine="add", backend=name) for name in ("numba", "gl")
    )
    impacts = system.impacts(made, 0.0, LIFE)
    uv = p.impact_coordinates(impacts, made) * 256
    border = int((np.abs(uv - np.round(uv)).min(axis=1) < 256 * 1e-5).sum())
    counts = [float(m.data[..., -1].sum()) for m in (one, other)]
    differ = int((one.data[..., -1] != other.data[..., -1]).sum())
    report.note(
        "impact maps", "agreement",
        f"{counts[0]:.0f} impacts by Numba, {counts[1]:.0f} by OpenGL; {differ} pixels differ in number; "
        f"{border} impacts lie within 1e-5 of a pixel's border",
    )  # fmt: skip


def run(size: str) -> None:
    report = Report("particles")
    with one_core():
        first_hits(report, size)
        small_calls(report, size)
        late_windows(report, size)
        other_kinds(report, size)
        spheres(report, size)
    opengl(report, size)
    report.save()
