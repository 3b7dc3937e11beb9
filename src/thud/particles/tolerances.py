"""Tolerances and limits of `particles/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import UNIT_ROUNDOFF

#: Places, velocities, accelerations and times of particles, and lengths of colliders, are accepted up to this (SI units),
#: lengths down to its inverse: fourth powers of times with squares of accelerations over squares of lengths are still numbers.
LARGEST = 1e30

#: Entries of a quadric's matrix are accepted up to this: times the square of a place after the longest time they are numbers.
LARGEST_ENTRY = 1e100

#: Most generations of a particle until a time that is asked for (a count): beyond, a float no longer tells one from the next.
MOST_GENERATIONS = 2.0**53

#: Most generations of all particles in one window, and most impacts (counts): the arrays of as many impacts take 17 GB.
MOST_WINDOW_GENERATIONS = 2**28
MOST_WINDOW_IMPACTS = 2**27

#: Most texels of all maps of one call (a count): 4 channels of 4 bytes each are 17 GB.
MOST_TEXELS = 2**30

#: A particle starts on a surface if it is no farther from it than this times the largest coordinate of its place and of the
#: collider: what the evaluation of its place has lost.
START_ROUNDOFF = 128.0 * UNIT_ROUNDOFF

#: A particle that would leave a collider along its normal more slowly than this, m/s, rests: under gravity
#: its hop would be 50 nm high and take 0.2 ms, and the next one less.
RESTING_SPEED = 1e-3

#: Largest rate of drag, drag / mass, 1/s: a particle takes on the wind's velocity within a nanosecond, less than what times of
#: impacts are promised to.
MOST_RATE = 1e9
