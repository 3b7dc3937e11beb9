"""The samples of a stretch of time, and where between them an instant lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.gates import finite_array

#: Seconds; about where float64 no longer distinguishes samples.
LATEST = 1e10


@dataclass(frozen=True)
class Stretch:
    """The samples of [t0, t1), checked: sample n stands at t0 + n / rate; those whose time, in float64, is before t1."""

    t0: float
    t1: float
    rate: int
    count: int

    @classmethod
    def of(cls, t0: float, t1: float, rate: int) -> Stretch:
        """From what a caller gives."""
        ends = []
        for value, name in ((t0, "t0"), (t1, "t1")):
            array = finite_array(value, name)
            if array.ndim != 0 or abs(array) > LATEST:
                raise InvalidInputError(f"{name}: expected one number of seconds, at most {LATEST:.0e}, got {value!r}")
            ends.append(float(array))
        if ends[1] < ends[0]:
            raise InvalidInputError(f"t1: expected at least t0 = {ends[0]}, got {ends[1]}")
        if isinstance(rate, bool) or not isinstance(rate, (int, np.integer)) or not 1 <= rate <= 10_000_000:
            raise InvalidInputError(f"rate: expected a whole number of samples a second from 1 to 10,000,000, got {rate!r}")
        rate = int(rate)
        count = math.ceil((Fraction(ends[1]) - Fraction(ends[0])) * rate)
        # In float64, sample 4,800 of 48,000 Hz is heard at 0.1; without rounding, a little before that number.
        while count and _sample_time(ends[0], count - 1, rate) >= ends[1]:
            count -= 1
        return cls(ends[0], ends[1], rate, count)

    def time(self, sample: int) -> float:
        """When a sample is heard; t1 for the one after the last."""
        return self.t1 if sample >= self.count else _sample_time(self.t0, sample, self.rate)


def _sample_time(t0: float, sample: int, rate: int) -> float:
    """t0 + sample / rate, rounded once."""
    return float(Fraction(t0) + Fraction(sample, rate))


def sample_places(times: Floats, t0: float, rate: int) -> tuple[Ints, Floats]:
    """First sample at or after each time, and how many samples later than it: in [0, 1], at most a roundoff off.

    Times before t0 are heard from sample 0 on, later by more than that. Sample n stands at t0 + n / rate, taken exactly:
    (t - t0) rate is computed with its rounding errors (TwoSum; Dekker's product), since late in a long sound the error of plain
    float64 would shift the phase.
    """
    # t - t0 = gap + gap_low
    gap = times - t0
    back = gap - times
    gap_low = (times - (gap - back)) - (t0 + back)
    # gap rate = place + place_low
    place = gap * rate
    split = gap * 134217729.0  # 2^27 + 1
    upper = split - (split - gap)
    rate_split = rate * 134217729.0
    rate_upper = rate_split - (rate_split - rate)
    lower, rate_lower = gap - upper, rate - rate_upper
    place_low = ((upper * rate_upper - place) + upper * rate_lower + lower * rate_upper) + lower * rate_lower
    place_low = place_low + gap_low * rate
    sample = np.ceil(place)
    delay = (sample - place) - place_low
    later = np.where(delay < 0.0, 1.0, np.where(delay >= 1.0, -1.0, 0.0))
    sample, delay = sample + later, delay + later
    early = sample < 0.0
    sample, delay = np.where(early, 0.0, sample), np.where(early, -place - place_low, delay)
    return sample.astype(np.int64), delay
