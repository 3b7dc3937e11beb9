"""Worlds for the tests of batches: a heap, a walker, and all kinds of things on ground of triangles."""

from __future__ import annotations

import numpy as np

import thud
from thud.dynamics import Ball, Fixed, Hinge, Motor

#: Radians and N m / rad.
STRIDE, STIFFNESS = 0.5, 60.0


def heap(sleep_after: float | None = None) -> thud.World:
    """Ten bodies of six kinds above a floor; one spins so fast that it takes its steps in parts, one is shot at the others."""
    world = thud.World(threads=1, sleep_after=sleep_after)
    world.add(thud.Box((3.0, 3.0, 0.5)), thud.Pose((0.0, 0.0, -0.5)), static=True)
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * (0.2, 0.15, 0.12) + 0.01
    shapes = [
        thud.Box((0.2, 0.2, 0.2)), thud.Sphere(0.2), thud.Capsule(0.15, 0.2), thud.Cylinder(0.2, 0.2), thud.Cone(0.2, 0.2),
        thud.ConvexHull(corners),
    ]  # fmt: skip
    for k in range(10):
        at = (0.35 * (k % 2), 0.35 * (k // 2 % 2), 0.3 + 0.45 * (k // 4))
        world.add(shapes[k % len(shapes)], thud.Pose(at), density=500.0, restitution=0.2 * (k % 3))
    handles = world.handles()
    world.set_velocities(handles[1], (0.0, 0.0, 0.0), (0.0, 0.0, 50.0))
    world.set_velocities(handles[10], (-3.0, -20.0, -8.0), (9.0, 3.0, 0.0))
    world.set_turning_friction(handles[2:6], 0.01, 0.005)
    return world


def walker(sleep_after: float | None = None) -> thud.World:
    """Two legs of three parts below a trunk, with hinges that are driven to angles."""
    world = thud.World(threads=1, sleep_after=sleep_after)
    world.add(thud.HalfSpace((0.0, 0.0, 1.0), 0.0), static=True, friction=0.9)
    trunk = world.add(thud.Box((0.12, 0.2, 0.2)), thud.Pose((0.0, 0.0, 1.12)), density=500.0)
    for side in (-1.0, 1.0):
        y = 0.12 * side
        thigh = world.add(thud.Capsule(0.06, 0.14), thud.Pose((0.0, y, 0.72)), density=800.0)
        shin = world.add(thud.Capsule(0.05, 0.14), thud.Pose((0.0, y, 0.32)), density=800.0)
        foot = world.add(thud.Box((0.12, 0.05, 0.03)), thud.Pose((0.04, y, 0.04)), density=800.0, friction=0.9)
        motor = Motor(position=0.0, stiffness=STIFFNESS, damping=4.0, force=150.0)
        for body, to, height in ((thigh, trunk, 0.92), (shin, thigh, 0.52), (foot, shin, 0.1)):
            hinge = Hinge((0.0, y, height), (0.0, 1.0, 0.0), limits=(-1.2, 1.2), motor=motor)
            world.add_joint(hinge, body, to)
    return world


def things(sleep_after: float | None = None) -> thud.World:
    """A mesh, a height field, a compound, a moving mesh, a sensor, a driven platform, locked axes, a belt, joints of which one
    breaks; a body that was removed left a free row."""
    world = thud.World(threads=1, sleep_after=sleep_after)
    x, y = np.meshgrid(np.linspace(-2.0, 2.0, 9), np.linspace(-2.0, 2.0, 9), indexing="ij")
    world.add(thud.HeightField(0.05 * np.sin(2.0 * x) * np.cos(y), 0.5, (-2.0, -2.0, 0.0)))
    slab = thud.TriangleMesh(
        [(2.0, -2.0, 0.0), (5.0, -2.0, 0.3), (5.0, 2.0, 0.3), (2.0, 2.0, 0.0)], [(0, 1, 2), (0, 2, 3)]
    )  # fmt: skip
    world.add(slab, static=True)
    gone = world.add(thud.Sphere(0.1), thud.Pose((0.0, 0.0, 5.0)))
    axle = thud.Pose([(0.0, 0.0, -0.15), (0.0, 0.0, 0.15)])
    dumb_bell = thud.Compound([thud.Sphere(0.12), thud.Box((0.1, 0.1, 0.1))], axle)
    world.add(dumb_bell, thud.Pose((-0.5, 0.0, 0.36)), mass=3.0)
    corners = 0.15 * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4),
             (1, 5, 7), (1, 7, 3)]  # fmt: skip
    world.add(thud.TriangleMesh(corners, faces), thud.Pose((0.6, 0.1, 0.27)), mass=4.0)
    world.add(thud.Sphere(0.2), thud.Pose((3.0, 0.0, 0.35)), mass=5.0, friction=0.8)
    world.add(thud.Box((0.2, 0.2, 0.1)), thud.Pose((3.2, 1.0, 0.35)), mass=5.0, restitution=0.5)
    world.add(thud.Box((0.45, 0.3, 0.3)), thud.Pose((0.0, 0.0, 0.3)), sensor=True, static=True)
    platform = world.add(thud.Box((0.3, 0.3, 0.05)), thud.Pose((-1.2, -1.0, 0.3)), kinematic=True, velocity=(0.3, 0.0, 0.0))
    world.add(thud.Sphere(0.15), thud.Pose((-1.2, -1.0, 0.53)), mass=1.0)
    sliding = world.add(thud.Box((0.1, 0.1, 0.1)), thud.Pose((-1.0, 1.0, 0.2)), mass=1.0)
    world.set_locked(sliding, (False, True, False), (True, False, True))
    world.set_surface_velocity(platform, (0.0, 0.2, 0.0))
    a = world.add(thud.Capsule(0.08, 0.15), thud.Pose((1.0, -1.0, 0.8)), mass=1.0)
    b = world.add(thud.Capsule(0.08, 0.15), thud.Pose((1.0, -1.0, 0.35)), mass=1.0)
    c = world.add(thud.Sphere(0.1), thud.Pose((1.3, -1.0, 0.8)), mass=2.0)
    world.add_joint(Ball((1.0, -1.0, 0.57), swing=0.8), b, a)
    world.add_joint(Fixed((1.15, -1.0, 0.8), break_force=15.0), c, a)
    world.remove(gone)
    return world
