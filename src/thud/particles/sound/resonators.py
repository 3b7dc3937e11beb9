"""The modes of some bodies and the contacts on their way to them: what is kept from block to block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.simd_waves import WAVE_ROWS
from thud.particles.sound.materials import Material
from thud.particles.sound.modal import ANGLE, DECAY, GAIN, SHORT, SOUND_ROW, click_rows, ring_block
from thud.particles.sound.tolerances import SOUND_PARTS, SOUND_SHORT_CONTACT, SOUND_SHORTEST_CONTACT


class _Rows:
    """Columns of one length."""

    def some(self, rows: Ints | slice) -> Self:
        """Some of them, in that order."""
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))  # type: ignore[arg-type]

    def and_more(self, others: Self) -> Self:
        """These and others."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return type(self)(*(np.concatenate([getattr(self, name), getattr(others, name)]) for name in names))

    def later(self: Any, others: Any) -> Any:
        """These and others, in the order of their samples."""
        both = self.and_more(others)
        return both.some(np.argsort(both.sample, kind="stable"))


@dataclass
class Clicks(_Rows):
    """N clicks: size sin(2 pi t / drawn) for 0 <= t <= drawn."""

    sample: Ints
    """(N,) first sample at or after its begin."""
    delay: Floats
    """(N,) how many samples that is after it."""
    drawn: Floats
    """(N,) samples that it lasts."""
    size: Floats
    """(N,) Pa."""


@dataclass
class Contacts(_Rows):
    """N contacts, as `Resonators` take them."""

    body: Ints
    """(N,) which body."""
    sample: Ints
    """(N,) first sample at or after its begin."""
    delay: Floats
    """(N,) how many samples that is after it."""
    length: Floats
    """(N,) samples that it lasts."""
    impulse: Floats
    """(N,) N s, times what is left of its sound where it is heard."""
    place: Floats
    """(N, 2) own coordinates of the body's mode shapes, see `ModeShapes.own_coordinates`."""
    begun: npt.NDArray[np.bool_]
    """(N,) whether its begin has been taken into the state."""

    @property
    def drawn(self) -> Floats:
        """(N,) samples that its force is drawn out to."""
        return np.maximum(self.length, SOUND_SHORTEST_CONTACT)

    @property
    def end(self) -> tuple[Ints, Floats]:
        """(N,) first sample at or after its end, and how many samples that is after it."""
        left = self.drawn - self.delay
        samples = np.maximum(np.ceil(left), 0.0)
        return self.sample + samples.astype(np.int64), samples - left


def no_contacts() -> Contacts:
    """None."""
    none, whole = np.zeros(0), np.zeros(0, np.int64)
    return Contacts(whole, whole, none, none, none, np.zeros((0, 2)), np.zeros(0, np.bool_))


def contact_spectrum(x: Floats) -> Floats:
    """W(x) = sin(pi x) / (pi x (1 - x^2)), 0 <= x < 1: what a contact of T seconds has at the frequency x / T."""
    return np.sinc(x) / (1.0 - x * x)


class Resonators:
    """The modes of some bodies, and the sample at which they stand.

    Parameters
    ----------
    bodies : materials, each with its own frequencies
    rate : samples a second
    channels : how often, each with states of its own: once, or once an ear
    """

    def __init__(self, bodies: Sequence[Material], rate: int, channels: int = 1) -> None:
        kept = [np.flatnonzero(np.asarray(body.frequencies) < 0.5 * rate) for body in bodies]
        self._bodies = list(bodies)
        # Whole groups of modes: what is left over has no gain, and stays at rest.
        sizes = [-(-len(rows) // WAVE_ROWS) * WAVE_ROWS for rows in kept]
        self._body_first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        total = int(self._body_first[-1])
        self._modes, self._index = np.ones((4, total)), np.zeros((2, total), np.int64)
        self._modes[GAIN] = 0.0
        for k, (body, rows) in enumerate(zip(bodies, kept, strict=True)):
            here = slice(self._body_first[k], self._body_first[k] + len(rows))
            frequencies = np.asarray(body.frequencies)[rows] / rate
            self._modes[DECAY, here] = np.asarray(body.dampings)[rows] / rate
            self._modes[ANGLE, here] = 2.0 * np.pi * frequencies
            self._modes[GAIN, here] = np.asarray(body.gains)[rows]
            self._modes[SHORT, here] = 1.0 / contact_spectrum(SOUND_SHORTEST_CONTACT * frequencies)
            if body.shapes is not None:
                self._index[0, here] = body.shapes.first.columns[rows]
                self._index[1, here] = body.shapes.second.columns[rows]
        decay, angle = self._modes[DECAY], self._modes[ANGLE]
        self._step_re, self._step_im = _turns(decay[:, None], angle[:, None], np.arange(SOUND_ROW + 0.0)[None, :])
        parts = np.arange(SOUND_PARTS + 1.0)[:, None] / SOUND_PARTS
        self._part_re, self._part_im = _turns(decay[None, :], angle[None, :], parts)
        self._rate = rate
        self.channels = channels
        self._state = np.zeros((channels, 2, total))
        self._anchor = np.zeros((channels, len(bodies)), np.int64)
        # Contacts to come, in the order of samples, and those that last.
        self._waiting = [no_contacts() for _ in range(channels)]
        self._lasting = [no_contacts() for _ in range(channels)]
        self._clicks = [Clicks(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0)) for _ in range(channels)]
        #: The next sample.
        self.sample = 0

    def strike(self, contacts: Contacts, clicks: Clicks, channel: int = 0) -> None:
        """Take contacts that begin at or after the next sample, in any order, and clicks."""
        self._waiting[channel] = self._waiting[channel].later(contacts)
        self._clicks[channel] = self._clicks[channel].later(clicks)

    def ring(self, count: int) -> Floats:
        """(count, channels) next samples. With a count of 0, contacts up to now are taken into the state."""
        out = np.zeros((len(self._waiting), count))
        for channel in range(len(self._waiting)):
            self._ring(channel, out[channel])
            self._click(channel, out[channel])
        self.sample += count
        return np.ascontiguousarray(out.T)

    def _ring(self, channel: int, out: Floats) -> None:
        waiting, first, stop = self._waiting[channel], self.sample, self.sample + len(out)
        cut = int(np.searchsorted(waiting.sample, max(stop, first + 1)))
        heard = self._lasting[channel].and_more(waiting.some(slice(0, cut)))
        self._waiting[channel] = waiting.some(slice(cut, None))
        # One order, whatever the order in which they came: the sum's last bits depend on it.
        keys = (heard.place[:, 1], heard.place[:, 0], heard.impulse, heard.length, heard.delay, heard.sample)
        heard = heard.some(np.lexsort((*keys, heard.body)))
        end, end_delay = heard.end
        u, v, u_first, v_first = self._shape_values(heard)
        bodies = np.arange(len(self._bodies) + 1)
        contact_first = np.searchsorted(heard.body, bodies).astype(np.int64)
        whole = (heard.length <= SOUND_SHORT_CONTACT) & (heard.delay < 1.0)
        ints = np.ascontiguousarray(np.column_stack([heard.sample, end, u_first, v_first, whole]), dtype=np.int64)
        drawn = heard.drawn
        contacts = np.column_stack([heard.delay, heard.length, drawn, heard.impulse * self._rate / drawn])
        # Begins and ends within this block, and ends of short contacts, in the order of samples.
        rows = np.arange(len(heard.body))
        begins = np.flatnonzero(~heard.begun & ~whole)
        ends = np.flatnonzero((end < stop) | (end <= first) | whole)
        event_row = np.concatenate([rows[begins], rows[ends]])
        event_sample = np.concatenate([heard.sample[begins], end[ends]])
        event_delay = np.concatenate([heard.delay[begins], end_delay[ends]])
        sign = np.concatenate([np.ones(len(begins), np.int64), np.full(len(ends), -1, np.int64)])
        order = np.lexsort((event_row, -sign, event_sample, heard.body[event_row]))
        events = np.column_stack([event_sample, sign, event_row])[order].astype(np.int64)
        event_first = np.searchsorted(heard.body[event_row][order], bodies).astype(np.int64)
        ring_block(
            first, self._body_first, self._modes, self._index, self._step_re, self._step_im, self._part_re, self._part_im,
            contact_first, ints, np.ascontiguousarray(contacts), u, v, event_first, np.ascontiguousarray(events),
            np.ascontiguousarray(event_delay[order]), self._anchor[channel], *self._state[channel], out,
        )  # fmt: skip
        heard.begun[:] = True
        self._lasting[channel] = heard.some(np.flatnonzero(~((end < stop) | (end <= first))))

    def _click(self, channel: int, out: Floats) -> None:
        clicks, first, stop = self._clicks[channel], self.sample, self.sample + len(out)
        cut = int(np.searchsorted(clicks.sample, stop))
        now = clicks.some(slice(0, cut))
        now = now.some(np.lexsort((now.size, now.drawn, now.delay, now.sample)))
        click_rows(first, now.sample, now.delay, now.drawn, now.size, out)
        last = now.some(np.flatnonzero(now.sample + now.drawn - now.delay > stop))
        self._clicks[channel] = last.later(clicks.some(slice(cut, None)))

    def _shape_values(self, contacts: Contacts) -> tuple[Floats, Floats, Ints, Ints]:
        """Values of both factors of the mode shapes of all contacts, and where those of each begin."""
        bounds = np.searchsorted(contacts.body, np.arange(len(self._bodies) + 1))
        values, starts = [], np.zeros((2, len(contacts.body)), np.int64)
        for axis in (0, 1):
            factors = [None if body.shapes is None else (body.shapes.first, body.shapes.second)[axis] for body in self._bodies]
            # The first value is that of bodies without shapes.
            ends = 1 + np.cumsum([0] + [0 if f is None else n * f.width for f, n in zip(factors, np.diff(bounds), strict=True)])
            out = np.empty(int(ends[-1]))
            out[0] = 1.0
            for k, factor in enumerate(factors):
                rows = slice(bounds[k], bounds[k + 1])
                if factor is not None and bounds[k + 1] > bounds[k]:
                    factor.fill(contacts.place[rows, axis], out[ends[k] : ends[k + 1]].reshape(-1, factor.width))
                    starts[axis, rows] = ends[k] + np.arange(bounds[k + 1] - bounds[k]) * factor.width
            values.append(out)
        return values[0], values[1], starts[0], starts[1]


def _turns(decay: Floats, angle: Floats, samples: Floats) -> tuple[Floats, Floats]:
    """exp(c samples), real and imaginary part."""
    size = np.exp(-decay * samples)
    return np.ascontiguousarray(size * np.cos(angle * samples)), np.ascontiguousarray(size * np.sin(angle * samples))
