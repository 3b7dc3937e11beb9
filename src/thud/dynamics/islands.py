"""Islands: bodies that contacts and joints hang together with, by union and find (Tarjan). An island sleeps and wakes as a
whole."""

from __future__ import annotations

from thud._core.decorators import device, kernel


@device
def root_of(parent, k):
    """The lowest row of k's island so far; halves the way to it."""
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


@device
def join(parent, a, b):
    """One island of two; the lower root stays."""
    a, b = root_of(parent, a), root_of(parent, b)
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b


@kernel("i8[:,::1], b1[::1], i8[:,::1], b1[::1], i8[::1]")
def find_islands(pairs, skip, joints, moves, island_out):
    """Islands of bodies (N,): the lowest row of each, -1 for bodies that are not moved. `pairs` (P, 2) rows that touch, but
    where `skip` (P,) says so; `joints` (J, 2) rows, -1 for the world; `moves` (N,)."""
    for k in range(moves.shape[0]):
        island_out[k] = k
    for q in range(pairs.shape[0]):
        if not skip[q] and moves[pairs[q, 0]] and moves[pairs[q, 1]]:
            join(island_out, pairs[q, 0], pairs[q, 1])
    for j in range(joints.shape[0]):
        a, b = joints[j, 0], joints[j, 1]
        if a >= 0 and b >= 0 and moves[a] and moves[b]:
            join(island_out, a, b)
    for k in range(moves.shape[0]):
        island_out[k] = root_of(island_out, k) if moves[k] else -1


@kernel("i8[::1], b1[::1], b1[::1], b1[::1]")
def wake_islands(island, disturbed, room, asleep):
    """Islands of which a member is awake or disturbed wake as a whole."""
    for k in range(island.shape[0]):
        room[k] = False
    for k in range(island.shape[0]):
        if island[k] >= 0 and (disturbed[k] or not asleep[k]):
            room[island[k]] = True
    for k in range(island.shape[0]):
        if island[k] >= 0 and room[island[k]]:
            asleep[k] = False


@kernel("i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8, f8, f8, f8[::1], b1[::1], b1[::1]")
def rest_islands(island, velocity, angular_velocity, bounds, slow, dt, after, calm, room, asleep):
    """Count the seconds for which each body has been slow, all of it slower than `slow` m/s; islands whose members all have for
    `after` seconds fall asleep, at rest."""
    for k in range(island.shape[0]):
        room[k] = True
    for k in range(island.shape[0]):
        if island[k] < 0 or asleep[k]:
            continue
        speed2, spin2, size2 = 0.0, 0.0, 0.0
        for c in range(3):
            speed2 += velocity[k, c] * velocity[k, c]
            spin2 += angular_velocity[k, c] * angular_velocity[k, c]
            side = bounds[k, 3 + c] - bounds[k, c]
            size2 += side * side
        # (|v| + |w| r)^2 is at most twice the sum of the squares.
        calm[k] = calm[k] + dt if 2.0 * (speed2 + 0.25 * spin2 * size2) < slow * slow else 0.0
        if calm[k] < after:
            room[island[k]] = False
    for k in range(island.shape[0]):
        if island[k] >= 0 and not asleep[k] and room[island[k]]:
            asleep[k] = True
            for c in range(3):
                velocity[k, c] = angular_velocity[k, c] = 0.0
