"""Sticks and springs: relaxation as in [Slides] ("Hitman"), and the compliant form.

[Slides] name the configuration and give no formula; the method of Hitman is Jakobsen's (2001): Verlet steps
x' = 2 x - x_before + a h^2, then each stick in turn moves its two ends along itself, by their inverse masses, until it has its
length. A spring instead pulls with a force. The compliant form (XPBD: Macklin, Mueller, Chentanez 2016) gives each stick a
multiplier, so that its stiffness is 1 / compliance whatever the number of iterations.
"""

from __future__ import annotations

import math

from thud._core.decorators import device
from thud.dynamics.sticks.types import LONGER, SHORTER
from thud.math.vec3 import load3, sub


@device
def slack_stick(mode, excess):
    """Whether a stick does not resist."""
    return (mode == LONGER and excess < 0.0) or (mode == SHORTER and excess > 0.0)


@device
def pull_springs(points, net, start, stop, h):
    """Springs of one colour pull: a force of excess / compliance over h seconds, from where the points are."""
    for k in range(start, stop):
        if net.compliance[k] == 0.0 or net.alive[k] == 0:
            continue
        a, b = net.ends[k, 0], net.ends[k, 1]
        d = sub(load3(points.x, b, 0), load3(points.x, a, 0))
        length = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        excess = length - net.rest[k]
        if length == 0.0 or slack_stick(net.mode[k], excess):
            continue
        s = h * h * excess / (net.compliance[k] * length)
        for axis in range(3):
            points.y[a, axis] += points.give[a] * s * d[axis]
            points.y[b, axis] -= points.give[b] * s * d[axis]


@device
def relax_sticks(points, net, start, stop):
    """Sticks of one colour get their lengths."""
    for k in range(start, stop):
        if net.compliance[k] > 0.0 or net.alive[k] == 0:
            continue
        a, b = net.ends[k, 0], net.ends[k, 1]
        wa, wb = points.give[a], points.give[b]
        d = sub(load3(points.y, b, 0), load3(points.y, a, 0))
        length = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        excess = length - net.rest[k]
        if length == 0.0 or wa + wb == 0.0 or slack_stick(net.mode[k], excess):
            continue
        s = excess / (length * (wa + wb))
        for axis in range(3):
            points.y[a, axis] += wa * s * d[axis]
            points.y[b, axis] -= wb * s * d[axis]


@device
def solve_sticks(points, net, start, stop, h):
    """Sticks of one colour, compliant."""
    inverse = 1.0 / (h * h)
    for k in range(start, stop):
        if net.alive[k] == 0:
            continue
        a, b = net.ends[k, 0], net.ends[k, 1]
        wa, wb = points.give[a], points.give[b]
        d = sub(load3(points.y, b, 0), load3(points.y, a, 0))
        length = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        if length == 0.0 or wa + wb == 0.0:
            continue
        excess = length - net.rest[k]
        soft = net.compliance[k] * inverse
        before = net.tension[k]
        tension = before - (excess + soft * before) / (wa + wb + soft)
        # What resists in one sense only never pulls in the other.
        if net.mode[k] == LONGER:
            tension = min(tension, 0.0)
        elif net.mode[k] == SHORTER:
            tension = max(tension, 0.0)
        net.tension[k] = tension
        s = (tension - before) / length
        for axis in range(3):
            points.y[a, axis] -= wa * s * d[axis]
            points.y[b, axis] += wb * s * d[axis]
