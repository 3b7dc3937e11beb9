"""What happens at the end of a flight: the particle is removed, bounces, slides, or rests. 3.3.

The speed along the normal is turned round and multiplied by the restitution e; Coulomb friction takes up to
friction (1 + e) times the speed of approach off the rest. Normals point to where the particle comes from.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.colliders.element_arrays import COLLIDER
from thud.particles.crossings.drag_time import dragged_place, dragged_velocity
from thud.particles.crossings.elements import dot3, path_at
from thud.particles.crossings.path_columns import PATH_DRAG
from thud.particles.flight.clearance import clear_of_others, is_clear
from thud.particles.flight.flight_rows import (
    AGE,
    BIRTH,
    FLIGHTS,
    FREE,
    GENERATION,
    GONE,
    HOP,
    IMPACTS,
    LIFE,
    MODE,
    PARTICLE,
    RESTED,
    SIDE,
    SLIDE,
    STALL,
    UNTIL,
)
from thud.particles.flight.motion import flight_acceleration
from thud.particles.flight.slide import dragged_edge_time, dragged_stop, edge_time, is_plane, slide_acceleration
from thud.particles.flight.tolerances import (
    CLEAR_FAR,
    CLEAR_REACH,
    SLIDE_BOUNCES,
    SLIDE_CREEP,
    SLIDE_FURTHER,
    SLIDE_LANDING,
    SLIDE_LATE,
    SLIDE_LIFT,
    SLIDE_NEAR,
    SLIDE_PARALLEL,
    SLIDE_SOFT,
    SLIDE_STALLS,
    SLIDE_STEEPEST,
    SLIDE_STOPPED,
    SLIDE_STRAIGHT,
    SLIDE_STUCK,
    SLIDE_TIME,
    SLIDE_WEDGE,
)
from thud.particles.tolerances import RESTING_SPEED

# What a particle is doing.
UNBORN, FLYING, REMOVED, RESTING, SLIDING = range(5)

# Columns of an event's numbers: time, point (3), normal (3), velocity (3), speed. Of its integers: particle, generation,
# collider, part, bounce, status.
TIME, POINT, NORMAL, VELOCITY, SPEED, EVENT_REALS = 0, 1, 4, 7, 10, 11
EVENT_INTS = 6

# `CastStatus` of an event: HIT, UNCONVERGED.
CROSSED, CROSSED_DOUBTFULLY = 1, 3

# What becomes of a row at the end of its flight.
ENDED, GOES_ON = 0, 1


@exact_device
def bounced(v, n, restitution, friction, lift):
    """Velocity after an impact with velocity v, and its speed along n. lift: speed along n that friction is due for beside that
    of the impact."""
    approach = dot3(n, v)
    along = (v[0] - approach * n[0], v[1] - approach * n[1], v[2] - approach * n[2])
    speed = math.sqrt(dot3(along, along))
    keep, away = 1.0, -restitution * approach
    if friction > 0.0 and speed > 0.0:
        keep = max(0.0, 1.0 + friction * ((1.0 + restitution) * approach - lift) / speed)
    return (keep * along[0] + away * n[0], keep * along[1] + away * n[1], keep * along[2] + away * n[2]), away


@exact_device
def towards(n, w):
    """The normal on the side that a particle with velocity w comes from."""
    return (-n[0], -n[1], -n[2]) if dot3(n, w) > 0.0 else n


@exact_device
def velocity_at(v, a, t):
    """g'(t)."""
    return v[0] + t * a[0], v[1] + t * a[1], v[2] + t * a[2]


@exact_device
def arrival(x, v, a, rate, t):
    """(g(t), g'(t)) of a path with drag of this rate, or 0."""
    if rate != 0.0:
        return dragged_place(x, v, a, rate, t), dragged_velocity(v, a, rate, t)
    return path_at(x, v, a, t), velocity_at(v, a, t)


@exact_device
def row3(array, k, at):
    """Three numbers of a row."""
    return array[k, at], array[k, at + 1], array[k, at + 2]


@exact_device
def next_flight(flights, k, kept, p, v, a, w, span, mode, impacts, collider, part):
    """Row `kept` becomes the flight that follows row k's after `span`: from p with v and a, where it arrived with w. a: but for
    the drag's part of v."""
    row, clock, paths, came, last = flights.row, flights.clock, flights.paths, flights.came, flights.last
    creeps = span < 0.5 * SLIDE_TIME and max(dot3(v, v), dot3(w, w)) < SLIDE_CREEP * SLIDE_CREEP and row[k, MODE] != FREE
    stall = row[k, STALL] + 1 if creeps or span < SLIDE_STUCK * SLIDE_TIME else np.int64(0)
    row[kept, PARTICLE], row[kept, GENERATION], row[kept, IMPACTS] = row[k, PARTICLE], row[k, GENERATION], impacts
    row[kept, MODE], row[kept, FLIGHTS], row[kept, STALL] = mode, row[k, FLIGHTS] + 1, stall
    age = clock[k, AGE] + span
    clock[kept, BIRTH], clock[kept, AGE], clock[kept, LIFE], clock[kept, UNTIL] = clock[k, BIRTH], age, clock[k, LIFE], math.inf
    before, rate = (came[k, 0], came[k, 1], came[k, 2]), paths[k, PATH_DRAG]
    a = flight_acceleration(a, v, rate)
    paths[kept, PATH_DRAG] = rate
    for axis in range(3):
        paths[kept, axis], paths[kept, 3 + axis], paths[kept, 6 + axis] = p[axis], v[axis], a[axis]
        # At a corner, where it hits again at once, the particle has arrived with the velocity before.
        came[kept, axis] = w[axis] if span > 0.0 else before[axis]
    last[kept, 0], last[kept, 1] = collider, part


@exact_device
def end_flight(flights, k, kept, p, span, mode, impacts):
    """Row `kept` becomes the end of row k's flights: at p for the rest of its life."""
    next_flight(
        flights, k, kept, p, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), span, np.int64(mode), impacts, np.int64(-1),
        np.int64(-1),
    )  # fmt: skip
    # No flight follows, however long it lives.
    flights.clock[kept, LIFE] = flights.clock[kept, AGE]


@exact_device
def before_landing(flights, k, elements, p, span, back, reach):
    """(place, whether it is clear) of a particle that has arrived at p after `span`: up to `back` seconds before, so little
    that it does not show. The flight has crossed nothing until then, whatever is near, and of whatever kind: so a place on it
    is on the right side of all, and where that is in doubt it goes back by more."""
    q, clear = p, False
    if flights.hit[k, 0] < 0 or not span > 0.0:
        clear = is_clear(elements, p, reach)
    x, v, a = row3(flights.paths, k, 0), row3(flights.paths, k, 3), row3(flights.paths, k, 6)
    half = 0.5 * span
    at = min(back, half)
    while not clear and span > 0.0:
        q = arrival(x, v, a, flights.paths[k, PATH_DRAG], span - at)[0]
        clear = is_clear(elements, q, reach)
        if at >= half:
            break
        at = min(SLIDE_FURTHER * at, half)
    return q, clear


@exact_device
def cross3(a, b):
    """a x b"""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@exact_device
def just_left(flights, k, span):
    """Whether a flight of `span` is so short, or so near what it left, that this forms a wedge with what it meets."""
    mode = flights.row[k, MODE]
    return mode == SLIDE or (span < SLIDE_TIME and (mode == HOP or flights.last[k, 0] >= 0))


@exact_device
def differs(n, other, planes):
    """Whether surfaces of these normals are the sides of a wedge. Of two planes any that are not parallel."""
    cosine = dot3(n, other)
    if dot3(other, other) == 0.0 or 1.0 - cosine * cosine < SLIDE_PARALLEL:
        return False
    return planes or cosine < SLIDE_WEDGE


@exact_device
def held(u, n, other, third):
    """Whether a corner of three surfaces holds against u: u is a sum of what points into each of them."""
    across = cross3(other, third)
    volume = dot3(n, across)
    if abs(volume) < SLIDE_PARALLEL:
        return False
    into = -SLIDE_STRAIGHT * math.sqrt(dot3(u, u))
    one, two, three = dot3(u, across), dot3(u, cross3(third, n)), dot3(u, cross3(n, other))
    return -one / volume >= into and -two / volume >= into and -three / volume >= into


@exact_device
def bending(flights, k, n, v, span):
    """By how much a surface that bends towards a particle with velocity v presses beside the acceleration, m/s^2: by what its
    normal has turned in the hop that lands here. 0 where it bends away, or is another surface."""
    before = row3(flights.slope, k, 0)
    if flights.row[k, MODE] != HOP or not span > 0.0 or dot3(n, before) < SLIDE_WEDGE:
        return 0.0
    return max(0.0, -dot3(v, (n[0] - before[0], n[1] - before[1], n[2] - before[2])) / span)


@exact_device
def keep_sides(flights, kept, n, e, other):
    """Row `kept` has left a surface of normal n and element e, or -1 where that is no plane, in a wedge with another."""
    flights.row[kept, SIDE] = e
    for axis in range(3):
        flights.slope[kept, axis], flights.slope[kept, 3 + axis] = n[axis], other[axis]


@exact_kernel(inner="elements, i8, vec3, vec3, vec3, vec3, f8")
def slide_end(elements, e, p, v, along, n, rate):
    """When a straight slide on plane e ends at its edge; 0: there it is."""
    if rate != 0.0:
        return dragged_edge_time(elements, e, p, v, along, rate)
    return edge_time(elements, e, p, v, along)


@exact_kernel(inner="flights, i8, i8, elements, f8[:,::1], i8, vec3, vec3, vec3, vec3, vec3, f8, f8, i8, i8, i8")
def settle_down(flights, k, kept, elements, materials, e, p, v, a, n, w, friction, span, impacts, collider, part):
    """What follows where a particle with velocity v along a surface no longer leaves it: it slides, hops, flies off or rests.
    It has arrived with w.

    e: the element that it lies on, -1 for other colliders; a: all of its acceleration. Returns ENDED or GOES_ON; row `kept` is
    what follows.
    """
    press, rate = -dot3(a, n), flights.paths[k, PATH_DRAG]
    stall = flights.row[k, STALL] if flights.row[k, MODE] != FREE else np.int64(0)
    side = e if is_plane(elements, e) else np.int64(-1)
    before, further, left = row3(flights.slope, k, 0), row3(flights.slope, k, 3), flights.row[k, SIDE]
    flat = side >= 0 and left >= 0
    wedge = just_left(flights, k, span) and differs(n, before, flat)
    short = span < SLIDE_STUCK * SLIDE_TIME
    other = before if wedge else (further if short else (0.0, 0.0, 0.0))
    line, pair = (0.0, 0.0, 0.0), False
    grip = friction * max(press, 0.0)
    if wedge:
        cosine = dot3(n, before)
        line = cross3(n, before)
        size = 1.0 / math.sqrt(dot3(line, line))
        line = (size * line[0], size * line[1], size * line[2])
        push = -dot3(a, before)
        sine2 = 1.0 - cosine * cosine
        here, there = (press - cosine * push) / sine2, (push - cosine * press) / sine2
        pair = here >= 0.0 and there >= 0.0
        leaves = dot3(v, before)
        # Into the other side again, or back to it within a hop: both take away what is across their line.
        if (leaves < 0.0 and cosine < 0.0) or (pair and 2.0 * leaves <= there * sine2 * SLIDE_TIME):
            along = dot3(v, line)
            v = (along * line[0], along * line[1], along * line[2])
        else:
            pair = False
        far = max(abs(p[0]), abs(p[1]), abs(p[2]))
        stays = span * math.sqrt(dot3(w, w)) < CLEAR_FAR * CLEAR_REACH * far
        if stays and stall > 0 and held(w, n, before, further):
            v = (0.0, 0.0, 0.0)
            if held(a, n, before, further):
                end_flight(flights, k, kept, p, span, RESTED, impacts)
                return ENDED
        if pair and flat:
            grip = friction * here + materials[elements.ints[left, COLLIDER], 1] * there
    still = a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0
    if still or stall > SLIDE_STALLS:
        end_flight(flights, k, kept, p, span, RESTED, impacts)
        return ENDED
    pull = (a[0] + press * n[0], a[1] + press * n[1], a[2] + press * n[2])
    if pair and flat:
        down = dot3(a, line)
        pull = (down * line[0], down * line[1], down * line[2])
    moves, straight, along, stops = slide_acceleration(v, pull, grip)
    if press >= 0.0 and not moves:
        end_flight(flights, k, kept, p, span, RESTED, impacts)
        return ENDED
    far = max(abs(p[0]), abs(p[1]), abs(p[2])) + max(press, 0.0) * SLIDE_TIME
    speed = math.sqrt(dot3(v, v))
    back = SLIDE_NEAR * far / max(-dot3(w, n), SLIDE_LIFT)
    q, clear = before_landing(flights, k, elements, p, span, back, CLEAR_REACH * far)
    if not clear:
        # So far into a corner that it is not known what is inside.
        end_flight(flights, k, kept, q, span, RESTED, impacts)
        return ENDED
    bend = 0.0 if wedge else bending(flights, k, n, v, span)
    lift, off = max(0.5 * (press + bend) * SLIDE_TIME, SLIDE_LIFT), n
    steepest = max(SLIDE_STEEPEST * speed, 0.5 * press * SLIDE_TIME, SLIDE_LIFT)
    if (pair and flat) or (press >= 0.0 and straight and side >= 0 and (flat or not wedge)):
        until = slide_end(elements, e, q, v, along, n, rate)
        if pair and flat:
            until = min(until, slide_end(elements, left, q, v, along, before, rate))
        if rate != 0.0:
            stops = dragged_stop(v, along, rate)
        if until > (SLIDE_STUCK * SLIDE_TIME if stall > 0 and flights.hit[k, 0] < 0 else 0.0):
            next_flight(flights, k, kept, q, v, along, w, span, np.int64(SLIDE), impacts, collider, -2 - part)
            keep_sides(flights, kept, n, side, other)
            # Beyond the edge by more than it is above the surface: what stands on it is hit.
            beyond = arrival(q, v, flight_acceleration(along, v, rate), rate, until)[1] if until < math.inf else v
            until += CLEAR_REACH * far / max(math.sqrt(dot3(beyond, beyond)), SLIDE_LIFT)
            flights.clock[kept, UNTIL] = min(until, stops)
            return GOES_ON
        if stall == 0:
            # Over the edge. When that has come to nothing it is along the edge, or something stands there.
            lift = SLIDE_LIFT
    if wedge and lift > SLIDE_LIFT and not dot3(v, before) > 0.0:
        # Off both sides, so fast that the next hop is as long as others. What leaves the other side already needs no more: that
        # normal is of a place before, and along the way would push the particle on.
        last = dot3(row3(flights.paths, k, 3), before)
        lift = max(lift, last * SLIDE_TIME / max(span, SLIDE_LIFT * SLIDE_TIME))
        steepest = max(steepest, 0.5 * math.sqrt(dot3(a, a)) * SLIDE_TIME)
        wide = math.sqrt(2.0 * (1.0 + dot3(n, before)))
        off = ((n[0] + before[0]) / wide, (n[1] + before[1]) / wide, (n[2] + before[2]) / wide)
        lift *= 2.0 / wide
    lift = min(lift, steepest)
    out = (v[0] + lift * off[0], v[1] + lift * off[1], v[2] + lift * off[2])
    none = np.int64(-1)
    next_flight(flights, k, kept, q, out, a, w, span, np.int64(HOP), impacts, none, none)
    keep_sides(flights, kept, n, side, other)
    return GOES_ON


@exact_kernel(inner="flights, i8, i8, elements, i8[::1], f8[:,::1], f8[:,::1]")
def after_slide(flights, k, kept, elements, first, materials, accelerations):
    """A slide of row k has come to its edge, or to a stop, and hit nothing before. Returns ENDED or GOES_ON."""
    paths, span = flights.paths, flights.clock[k, UNTIL]
    particle = flights.row[k, PARTICLE]
    a = row3(accelerations, particle if accelerations.shape[0] > 1 else 0, 0)
    x, v, along = row3(paths, k, 0), row3(paths, k, 3), row3(paths, k, 6)
    p, w = arrival(x, v, along, paths[k, PATH_DRAG], span)
    # A stop leaves nothing but roundoff.
    if dot3(w, w) <= SLIDE_STOPPED * SLIDE_STOPPED * dot3(v, v):
        w = (0.0, 0.0, 0.0)
    collider, part = flights.last[k, 0], -2 - flights.last[k, 1]
    n, impacts = row3(flights.slope, k, 0), flights.row[k, IMPACTS]
    return settle_down(
        flights,
        k,
        kept,
        elements,
        materials,
        first[collider] + part,
        p,
        w,
        a,
        n,
        w,
        materials[collider, 1],
        span,
        impacts,
        collider,
        part,
    )


@exact_kernel(inner="flights, i8, i8, i8, i8, elements, i8[::1], f8[:,::1], f8[:,::1]")
def after_impact(flights, k, kept, bounces, slides, elements, first, materials, accelerations):
    """(ENDED or GOES_ON, quiet): what follows the hit of row k, into row `kept`. quiet: a landing of a slide, no impact.

    bounces: how often a particle bounces; -1 removes it at its first impact. slides: 1 if it slides after that, 0 if it rests.
    """
    t, mode = flights.time[k], flights.row[k, MODE]
    x, v, a = row3(flights.paths, k, 0), row3(flights.paths, k, 3), row3(flights.paths, k, 6)
    p, w = arrival(x, v, a, flights.paths[k, PATH_DRAG], t)
    n = towards(row3(flights.normal, k, 0), w)
    collider, part, impacts = flights.hit[k, 0], flights.hit[k, 1], flights.row[k, IMPACTS]
    if bounces < 0:
        end_flight(flights, k, kept, p, t, GONE, impacts + 1)
        return ENDED, False
    if mode == SLIDE or flights.paths[k, PATH_DRAG] != 0.0:
        # Along a plane it is pulled by less than all of the acceleration; with drag the flight's is that of its start.
        particle = flights.row[k, PARTICLE]
        a = row3(accelerations, particle if accelerations.shape[0] > 1 else 0, 0)
    approach = -dot3(n, w)
    speed = math.sqrt(dot3(w, w))
    press = max(0.0, -dot3(a, n))
    soft = approach <= SLIDE_LANDING * (0.5 * press * SLIDE_TIME + SLIDE_LIFT)
    quiet = mode != FREE and (soft or (mode == HOP and t <= SLIDE_LATE * SLIDE_TIME and approach <= SLIDE_SOFT * speed))
    counted = impacts if quiet else impacts + 1
    restitution, friction = materials[collider, 0], materials[collider, 1]
    e = first[collider] + part if first[collider] >= 0 else np.int64(-1)
    # Bounces between the sides of a wedge become shorter than what is known of its place.
    wedged = flights.row[k, STALL] >= SLIDE_BOUNCES and not clear_of_others(elements, p, x, e)
    used_up = impacts >= bounces or quiet or wedged
    # A hop has pressed against the surface at its start as well, for which no friction was taken then.
    lift = max(0.0, dot3(v, row3(flights.slope, k, 0))) if quiet and mode == HOP else 0.0
    out, away = bounced(w, n, 0.0 if used_up else restitution, friction, lift)
    if not used_up and away >= RESTING_SPEED:
        other = row3(flights.slope, k, 0) if just_left(flights, k, t) else (0.0, 0.0, 0.0)
        next_flight(flights, k, kept, p, out, a, w, t, np.int64(FREE), counted, collider, part)
        keep_sides(flights, kept, n, e if is_plane(elements, e) else np.int64(-1), other)
        return GOES_ON, False
    if slides == 0:
        end_flight(flights, k, kept, p, t, RESTED, counted)
        return ENDED, False
    # What is left along the normal is lost.
    along = dot3(out, n)
    out = (out[0] - along * n[0], out[1] - along * n[1], out[2] - along * n[2])
    return settle_down(flights, k, kept, elements, materials, e, p, out, a, n, w, friction, t, counted, collider, part), quiet


@exact_kernel("i8, flights")
def begin_round(rows, flights):
    """Look until the end of life, or of the slide; nothing is hit yet."""
    for k in range(rows):
        flights.time[k] = min(flights.clock[k, LIFE] - flights.clock[k, AGE], flights.clock[k, UNTIL])
        flights.hit[k, 0], flights.hit[k, 1], flights.status[k] = -1, -1, 0


@exact_kernel(inner="flights, i8, flights, i8")
def keep_row(flights, k, saved, at):
    """Row `at` of what is saved becomes row k."""
    for j in range(flights.row.shape[1]):
        saved.row[at, j] = flights.row[k, j]
    for j in range(4):
        saved.clock[at, j] = flights.clock[k, j]
    for j in range(PATH_DRAG + 1):
        saved.paths[at, j] = flights.paths[k, j]
    for j in range(3):
        saved.came[at, j] = flights.came[k, j]
    for j in range(6):
        saved.slope[at, j] = flights.slope[k, j]
    saved.last[at, 0], saved.last[at, 1] = flights.last[k, 0], flights.last[k, 1]


@exact_kernel("i8, f8, f8, i8, i8, elements, i8[::1], f8[:,::1], f8[:,::1], flights, i8[:,::1], f8[:,::1], i8, flights")
def respond(
    rows, t0, t1, bounces, slides, elements, first, materials, accelerations, flights, event_ints, event_reals, least, saved
):  # fmt: skip
    """Write the events of [t0, t1) and start the next flights. Returns (events, rows that fly on, rows saved); those that fly
    on come first.

    first: row of each collider's first element, -1 for others; materials: restitution, friction a collider. Rows of more than
    `least` flights that are flying at t1, or have come to their end before, are saved: their flights may be taken up there.
    """
    events, kept, keeps = 0, 0, 0
    for k in range(rows):
        age = flights.clock[k, AGE] + flights.time[k]
        at = flights.clock[k, BIRTH] + age
        slid = flights.row[k, MODE] == SLIDE and flights.time[k] >= flights.clock[k, UNTIL]
        if not ((flights.hit[k, 0] >= 0 or slid) and age < flights.clock[k, LIFE] and at < t1):
            if flights.row[k, FLIGHTS] >= least:
                keep_row(flights, k, saved, np.int64(keeps))
                keeps += 1
            continue
        if flights.hit[k, 0] < 0:
            outcome = after_slide(flights, k, np.int64(kept), elements, first, materials, accelerations)
        else:
            t = flights.time[k]
            x, v, a = row3(flights.paths, k, 0), row3(flights.paths, k, 3), row3(flights.paths, k, 6)
            rate = flights.paths[k, PATH_DRAG]
            particle, generation, bounce = flights.row[k, PARTICLE], flights.row[k, GENERATION], flights.row[k, IMPACTS]
            n, doubt, hit = row3(flights.normal, k, 0), flights.status[k], (flights.hit[k, 0], flights.hit[k, 1])
            outcome, quiet = after_impact(
                flights, k, np.int64(kept), bounces, slides, elements, first, materials, accelerations
            )
            if at >= t0 and not quiet:
                p, w = arrival(x, v, a, rate, t)
                n = towards(n, w)
                event_ints[events, 0], event_ints[events, 1] = particle, generation
                event_ints[events, 2], event_ints[events, 3], event_ints[events, 4] = hit[0], hit[1], bounce
                event_ints[events, 5] = CROSSED_DOUBTFULLY if doubt != 0 else CROSSED
                event_reals[events, TIME] = at
                for axis in range(3):
                    event_reals[events, POINT + axis] = p[axis]
                    event_reals[events, NORMAL + axis] = n[axis]
                    event_reals[events, VELOCITY + axis] = w[axis]
                event_reals[events, SPEED] = math.sqrt(dot3(w, w))
                events += 1
        if outcome == GOES_ON:
            kept += 1
        elif flights.row[kept, FLIGHTS] >= least:
            keep_row(flights, np.int64(kept), saved, np.int64(keeps))
            keeps += 1
    return events, kept, keeps


@exact_device
def state_of(mode, hit, time):
    """What a particle in the middle of a flight is doing."""
    if mode == SLIDE or (mode == HOP and hit >= 0 and time <= SLIDE_LATE * SLIDE_TIME):
        return SLIDING
    return REMOVED if mode == GONE else (RESTING if mode == RESTED else FLYING)


@exact_kernel(
    "i8, f8, i8, i8, elements, i8[::1], f8[:,::1], f8[:,::1], f8[::1], flights, f8[:,::1], f8[:,::1], i8[:,::1], i8, flights"
)
def settle(
    rows, t, bounces, slides, elements, first, materials, accelerations, lifetimes, flights,
    position_out, velocity_out, state_out, least, saved,
):  # fmt: skip
    """Write the state at t of rows whose flight lasts until then or ends before; start the next flights of the others, which
    come first. Returns (how many, rows saved as by `respond`). state_out: what it is doing, generation, impacts."""
    kept, keeps = 0, 0
    for k in range(rows):
        age = flights.clock[k, AGE] + flights.time[k]
        slid = flights.row[k, MODE] == SLIDE and flights.time[k] >= flights.clock[k, UNTIL]
        at = k
        if (flights.hit[k, 0] >= 0 or slid) and age < flights.clock[k, LIFE] and flights.clock[k, BIRTH] + age <= t:
            if flights.hit[k, 0] < 0:
                outcome = after_slide(flights, k, np.int64(kept), elements, first, materials, accelerations)
            else:
                outcome, _quiet = after_impact(
                    flights, k, np.int64(kept), bounces, slides, elements, first, materials, accelerations
                )
            if outcome == GOES_ON:
                kept += 1
                continue
            at = kept
        if flights.row[at, FLIGHTS] >= least:
            keep_row(flights, np.int64(at), saved, np.int64(keeps))
            keeps += 1
        particle = flights.row[at, PARTICLE]
        life = lifetimes[particle if lifetimes.shape[0] > 1 else 0]
        x, v, a = row3(flights.paths, at, 0), row3(flights.paths, at, 3), row3(flights.paths, at, 6)
        # After its last generation a particle stays where that ended.
        over = t - flights.clock[at, BIRTH] >= life
        span = max(0.0, (life if over else t - flights.clock[at, BIRTH]) - flights.clock[at, AGE])
        p, w = arrival(x, v, a, flights.paths[at, PATH_DRAG], span)
        state = state_of(flights.row[at, MODE], flights.hit[k, 0], flights.time[k])
        if over:
            state, w = REMOVED, (0.0, 0.0, 0.0)
        for axis in range(3):
            position_out[particle, axis], velocity_out[particle, axis] = p[axis], w[axis]
        state_out[particle, 0], state_out[particle, 1], state_out[particle, 2] = (
            state,
            flights.row[at, GENERATION],
            flights.row[at, IMPACTS],
        )
    return np.int64(kept), np.int64(keeps)
