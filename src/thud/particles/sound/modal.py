"""Modal synthesis: resonators struck at exact times, between samples.

Of one mode with frequency f and damping d, sampled at `rate`, the strike of strength s at time t_i is heard at sample n, whose
time is t_n >= t_i, as g s exp(-d (t_n - t_i)) sin(2 pi f (t_n - t_i)): the imaginary part of

    z_n = g s exp(c (n - x_i)),    c = (-d + 2 pi i f) / rate,    x_i = (t_i - t_0) rate in samples.

So z_{n+1} = exp(c) z_n, one complex product a sample, whatever the number of strikes; and at the first sample n at or after x_i
the strike adds g s exp(c (n - x_i)) to the state, which gives it its phase. Modes at or above half the rate are left out: they
would be heard at frequencies that are not theirs.

The recursion's error grows by a few roundoffs a sample while the sound decays by exp(-d / rate): at its worst it is about
1e-16 rate / d of the peak, 5e-12 (-226 dB) for d = 1 per second. Exact kernels (no reassociation), one order of strikes and a
fixed grid for what depends on the sample make the samples independent of the blocks, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import exact_device, exact_kernel
from thud.particles.sound.materials import Material
from thud.particles.sound.tolerances import SOUND_FRAME, SOUND_SILENCE


@exact_device
def _strike(decay, angle, gain, delay, strength, state_re, state_im):
    """Add a strike `delay` samples ago to the modes of a bank."""
    for k in range(len(decay)):
        amplitude = gain[k] * strength * np.exp(-decay[k] * delay)
        state_re[k] += amplitude * np.cos(angle[k] * delay)
        state_im[k] += amplitude * np.sin(angle[k] * delay)


@exact_device
def _ring(step_re, step_im, start, stop, state_re, state_im, out):
    """Add the modes of a bank to the samples [start, stop); the state advances to `stop`."""
    for n in range(start, stop):
        total = 0.0
        for k in range(len(state_re)):
            total += state_im[k]
        out[n] += total
        for k in range(len(state_re)):
            real = state_re[k] * step_re[k] - state_im[k] * step_im[k]
            state_im[k] = state_re[k] * step_im[k] + state_im[k] * step_re[k]
            state_re[k] = real


@exact_device
def _silence(state_re, state_im):
    """Set modes below SOUND_SILENCE to 0; True if any is left."""
    loud = False
    for k in range(len(state_re)):
        if abs(state_re[k]) < SOUND_SILENCE and abs(state_im[k]) < SOUND_SILENCE:
            state_re[k] = 0.0
            state_im[k] = 0.0
        else:
            loud = True
    return loud


@exact_kernel(
    "i8, i8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1]"
)
def ring_block(
    first, bank_first, decay, angle, gain, step_re, step_im,
    strike_first, strike_sample, strike_delay, strike_strength,
    state_re, state_im, out,
):  # fmt: skip
    """Samples first, first + 1, ... of all banks, added to `out`; the state advances to the sample after the last.

    Bank b has the modes [bank_first[b], bank_first[b + 1]) and the strikes [strike_first[b], strike_first[b + 1]), in the order
    of their samples; those at or before `first` are heard from `first` on.
    """
    stop = first + len(out)
    for bank in range(len(bank_first) - 1):
        low, high = bank_first[bank], bank_first[bank + 1]
        # Views of the bank's own modes: loops over all of an array become SIMD.
        bank_decay, bank_angle, bank_gain = decay[low:high], angle[low:high], gain[low:high]
        bank_step_re, bank_step_im = step_re[low:high], step_im[low:high]
        re, im = state_re[low:high], state_im[low:high]
        strike, last = strike_first[bank], strike_first[bank + 1]
        n = first
        loud = False
        for k in range(high - low):
            if re[k] != 0.0 or im[k] != 0.0:
                loud = True
        while True:
            while strike < last and strike_sample[strike] <= n:
                _strike(bank_decay, bank_angle, bank_gain, strike_delay[strike], strike_strength[strike], re, im)
                strike += 1
                loud = True
            if n >= stop:
                break
            # On to the next strike, and while it rings no farther than the next look for silence.
            end = stop
            if strike < last:
                end = min(end, strike_sample[strike])
            if loud:
                end = min(end, (n // SOUND_FRAME + 1) * SOUND_FRAME)
                _ring(bank_step_re, bank_step_im, n - first, end - first, re, im, out)
                if end % SOUND_FRAME == 0:
                    loud = _silence(re, im)
            n = end


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


class Resonators:
    """The modes of some materials, one bank each, and the sample at which they stand.

    Parameters
    ----------
    materials : of the banks
    rate : samples a second
    """

    def __init__(self, materials: Sequence[Material], rate: int) -> None:
        kept = [np.flatnonzero(np.asarray(material.frequencies) < 0.5 * rate) for material in materials]
        self._bank_first = np.concatenate([[0], np.cumsum([len(rows) for rows in kept])]).astype(np.int64)
        columns = []
        for name in ("frequencies", "dampings", "gains"):
            parts = [np.asarray(getattr(material, name))[rows] for material, rows in zip(materials, kept, strict=True)]
            columns.append(np.concatenate([np.zeros(0), *parts]))
        frequencies, dampings, self._gain = columns
        self._decay = dampings / rate
        self._angle = 2.0 * np.pi * (frequencies / rate)
        size = np.exp(-self._decay)
        self._step_re, self._step_im = size * np.cos(self._angle), size * np.sin(self._angle)
        self._state_re, self._state_im = np.zeros(len(size)), np.zeros(len(size))
        #: The next sample.
        self.sample = 0
        # Strikes not heard yet, in the order of time: bank, sample, delay, strength.
        self._bank, self._sample = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._delay, self._strength = np.zeros(0), np.zeros(0)

    def strike(self, bank: Ints, sample: Ints, delay: Floats, strength: Floats) -> None:
        """Strikes, in the order of time and not before earlier ones: what they hit, at which sample, how long before it."""
        self._bank, self._sample = np.concatenate([self._bank, bank]), np.concatenate([self._sample, sample])
        self._delay, self._strength = np.concatenate([self._delay, delay]), np.concatenate([self._strength, strength])

    def ring(self, count: int) -> Floats:
        """The next `count` samples. With 0 of them, strikes up to now are taken into the state."""
        heard = (self._sample < self.sample + count) | (self._sample <= self.sample)
        order = np.flatnonzero(heard)
        order = order[np.argsort(self._bank[order], kind="stable")]
        banks = len(self._bank_first) - 1
        strike_first = np.searchsorted(self._bank[order], np.arange(banks + 1)).astype(np.int64)
        out = np.zeros(count)
        ring_block(
            self.sample, self._bank_first, self._decay, self._angle, self._gain, self._step_re, self._step_im,
            strike_first, self._sample[order], self._delay[order], self._strength[order],
            self._state_re, self._state_im, out,
        )  # fmt: skip
        self.sample += count
        for name in ("_bank", "_sample", "_delay", "_strength"):
            setattr(self, name, getattr(self, name)[~heard])
        return out
