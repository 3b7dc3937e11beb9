"""Kernels of modal synthesis: resonators driven by contacts at exact times, between samples.

Times are in samples here. A mode has c = -d + i w (damping and angle a sample) and answers a force F by the acceleration

    q'' = F + Im(c^2 / w z),    z' = c z + F.    (1)

A contact that begins at t = 0 has F = A (1 - cos(W t)) with W = 2 pi / T for 0 <= t <= T. Equation (1) has a closed form: with

    Z = c W^2 / (w (W^2 + c^2)),    q'' = A [Im(Z exp(c t)) - Im(Z) cos(W t) - Im(c Z) / W sin(W t)],    0 <= t <= T,
                                    q'' = A  Im(Z (exp(c t) - exp(c (t - T)))),                         t >= T.    (2)

So a contact adds A g Z exp(c x) to the state of each mode at the first sample after its begin, x later, and takes the same
away after its end; and while it lasts, one sine and cosine are heard beside the states, whose coefficients are sums over the
modes. No impulse is left over: q'' integrates to 0.

The state z of a mode stands at a sample, its *anchor*, and is heard at the SOUND_CHUNK samples from there on by tabulated
powers of exp(c). Chunks begin at contacts' begins and ends and at a fixed grid, never where a block does; with exact kernels
(no reassociation) and one order of contacts the samples are independent of the blocks, to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud._core.simd_waves import WAVE_ROWS, WAVE_SAMPLES, add_waves
from thud.particles.sound.tolerances import SOUND_FRAME, SOUND_PARTS, SOUND_SHORTEST_CONTACT, SOUND_SILENCE

_THIRD, _SIXTH, _SEVENTH = 1.0 / 3.0, 1.0 / 6.0, 1.0 / 7.0

#: Samples for which the turns of a mode are tabulated: its state is advanced once in so many.
SOUND_CHUNK = 4 * WAVE_SAMPLES

#: Length of a row of that table: up to a whole chunk, and on to the next cache line.
SOUND_ROW = SOUND_CHUNK + 8

#: Rows of the table of modes: damping and angle a sample, gain, 1 / W(f T) at the shortest contact.
DECAY, ANGLE, GAIN, SHORT = 0, 1, 2, 3

#: Columns of contacts: samples from its begin to its first sample; its true length and the one it is drawn out to, samples; A.
DELAY, LENGTH, DRAWN, FORCE = 0, 1, 2, 3

#: Integer columns of contacts: first sample, first sample after the end, first values of its mode shapes' factors, and
#: whether it is short and taken at once, at its end.
BEGIN, END, FIRST, SECOND, WHOLE = 0, 1, 2, 3, 4


def _spectrum_series() -> tuple[float, ...]:
    """W(x) = sin(pi x) / (pi x (1 - x^2)) as a polynomial in x^2: sums of the series of sin, right to 1e-16 for x <= 1."""
    from fractions import Fraction

    pi = Fraction("3.14159265358979323846264338327950288419716939937510")
    terms = [(-1) ** j * pi ** (2 * j) / math.factorial(2 * j + 1) for j in range(16)]
    return tuple(float(sum(terms[: j + 1])) for j in range(16))


_W0, _W1, _W2, _W3, _W4, _W5, _W6, _W7, _W8, _W9, _W10, _W11, _W12, _W13, _W14, _W15 = _spectrum_series()


@exact_device
def _weigh(gain, short, angle, first, second, u, v, u_at, v_at, length, weight):
    """What the modes of a body get of a contact: gain, shape where it landed, and the spectrum of one shorter than is drawn."""
    for k in range(len(gain)):
        weight[k] = gain[k] * u[u_at + first[k]] * v[v_at + second[k]]
    if length < SOUND_SHORTEST_CONTACT:
        turns = length / (2.0 * math.pi)
        for k in range(len(gain)):
            y = angle[k] * turns
            y = y * y
            high = ((((((_W15 * y + _W14) * y + _W13) * y + _W12) * y + _W11) * y + _W10) * y + _W9) * y + _W8
            low = (((((high * y + _W7) * y + _W6) * y + _W5) * y + _W4) * y + _W3) * y + _W2
            weight[k] *= ((low * y + _W1) * y + _W0) * short[k]


@exact_device
def _answer(decay, angle, drawn, weight, z_re, z_im):
    """weight Z of Eq. (2) for each mode."""
    square = (2.0 * math.pi / drawn) ** 2
    for k in range(len(decay)):
        d, w = decay[k], angle[k]
        re = square + d * d - w * w
        im = -2.0 * d * w
        scale = weight[k] * square / (re * re + im * im)
        z_re[k] = -scale * d * (re + 2.0 * w * w) / w
        z_im[k] = scale * (re - 2.0 * d * d)


@exact_device
def _turn(decay, angle, part_re, part_im, low, delay, turn_re, turn_im):
    """exp(c delay): by a series from the nearest tabulated part of a sample, if it is not longer than one."""
    if delay <= 1.0:
        part = int(delay * SOUND_PARTS + 0.5)
        rest = delay - part / SOUND_PARTS
        near_re, near_im = part_re[part, low : low + len(decay)], part_im[part, low : low + len(decay)]
        for k in range(len(decay)):
            a, b = -decay[k] * rest, angle[k] * rest
            # 1 + y (1 + y / 2 (1 + y / 3 (...))), y = a + i b
            re, im = 1.0 + a * 0.125, b * 0.125
            re, im = 1.0 + (a * re - b * im) * _SEVENTH, (a * im + b * re) * _SEVENTH
            re, im = 1.0 + (a * re - b * im) * _SIXTH, (a * im + b * re) * _SIXTH
            re, im = 1.0 + (a * re - b * im) * 0.2, (a * im + b * re) * 0.2
            re, im = 1.0 + (a * re - b * im) * 0.25, (a * im + b * re) * 0.25
            re, im = 1.0 + (a * re - b * im) * _THIRD, (a * im + b * re) * _THIRD
            re, im = 1.0 + (a * re - b * im) * 0.5, (a * im + b * re) * 0.5
            turn_re[k], turn_im[k] = 1.0 + (a * re - b * im), a * im + b * re
        # Loops of few arrays each: with more of them LLVM does not prove that none overlap, and they are not SIMD.
        for k in range(len(decay)):
            re, im = turn_re[k], turn_im[k]
            turn_re[k], turn_im[k] = near_re[k] * re - near_im[k] * im, near_re[k] * im + near_im[k] * re
    else:
        for k in range(len(decay)):
            size = math.exp(-decay[k] * delay)
            turn_re[k], turn_im[k] = size * math.cos(angle[k] * delay), size * math.sin(angle[k] * delay)


@exact_device
def _push(z_re, z_im, turn_re, turn_im, factor, last_re, last_im, state_re, state_im):
    """Add factor z turn to the state."""
    for k in range(len(z_re)):
        last_re[k] = z_re[k] * turn_re[k] - z_im[k] * turn_im[k]
    for k in range(len(z_re)):
        last_im[k] = z_re[k] * turn_im[k] + z_im[k] * turn_re[k]
    for k in range(len(z_re)):
        state_re[k] += factor * last_re[k]
    for k in range(len(z_re)):
        state_im[k] += factor * last_im[k]


@exact_device
def _sum(a_re, a_im, b_re, b_im):
    """Im of the sum of a b; four sums at once, since each has to wait for its last term."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, len(a_re), WAVE_ROWS):
        s0 += a_re[k] * b_im[k] + a_im[k] * b_re[k]
        s1 += a_re[k + 1] * b_im[k + 1] + a_im[k + 1] * b_re[k + 1]
        s2 += a_re[k + 2] * b_im[k + 2] + a_im[k + 2] * b_re[k + 2]
        s3 += a_re[k + 3] * b_im[k + 3] + a_im[k + 3] * b_re[k + 3]
    return (s0 + s1) + (s2 + s3)


@exact_device
def _steady(decay, angle, z_re, z_im, step):
    """Coefficients of cos and sin in Eq. (2): sums of Im(Z) and of Im(c Z) / W."""
    c0, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, len(decay), WAVE_ROWS):
        c0 += z_im[k]
        c1 += z_im[k + 1]
        c2 += z_im[k + 2]
        c3 += z_im[k + 3]
        s0 += angle[k] * z_re[k] - decay[k] * z_im[k]
        s1 += angle[k + 1] * z_re[k + 1] - decay[k + 1] * z_im[k + 1]
        s2 += angle[k + 2] * z_re[k + 2] - decay[k + 2] * z_im[k + 2]
        s3 += angle[k + 3] * z_re[k + 3] - decay[k + 3] * z_im[k + 3]
    return (c0 + c1) + (c2 + c3), ((s0 + s1) + (s2 + s3)) / step


@exact_device
def _short(decay, angle, z_re, z_im, turn_re, turn_im, one_re, one_im, contact, begin, end, first, out):
    """Hear a contact of few samples, [begin, end), states and all. `turn` is exp(c t) at its first sample, and then at `end`;
    `one` is exp(c)."""
    step = 2.0 * math.pi / contact[DRAWN]
    cosine, sine = _steady(decay, angle, z_re, z_im, step)
    for n in range(begin, end):
        if first <= n < first + len(out):
            turn = step * (contact[DELAY] + (n - begin))
            state = _sum(z_re, z_im, turn_re, turn_im)
            out[n - first] += contact[FORCE] * (state - sine * math.sin(turn) - cosine * math.cos(turn))
        for k in range(len(decay)):
            re, im = turn_re[k], turn_im[k]
            turn_re[k], turn_im[k] = re * one_re[k] - im * one_im[k], re * one_im[k] + im * one_re[k]


@exact_device
def _touch(decay, angle, z_re, z_im, contact, begin, low, high, first, out):
    """Add what is heard of a contact beside the states, Eq. (2), at the samples [low, high)."""
    step = 2.0 * math.pi / contact[DRAWN]
    cosine, sine = _steady(decay, angle, z_re, z_im, step)
    for n in range(low, high):
        turn = step * (contact[DELAY] + (n - begin))
        out[n - first] -= contact[FORCE] * (sine * math.sin(turn) + cosine * math.cos(turn))


@exact_device
def _turned(step_re, step_im, row, samples, re, im):
    """Four states, so many samples later."""
    a = (step_re[row, samples], step_re[row + 1, samples], step_re[row + 2, samples], step_re[row + 3, samples])
    b = (step_im[row, samples], step_im[row + 1, samples], step_im[row + 2, samples], step_im[row + 3, samples])
    return (
        (
            re[0] * a[0] - im[0] * b[0],
            re[1] * a[1] - im[1] * b[1],
            re[2] * a[2] - im[2] * b[2],
            re[3] * a[3] - im[3] * b[3],
        ),
        (
            re[0] * b[0] + im[0] * a[0],
            re[1] * b[1] + im[1] * a[1],
            re[2] * b[2] + im[2] * a[2],
            re[3] * b[3] + im[3] * a[3],
        ),
    )


@exact_device
def _ring(step_re, step_im, body_first, anchor, end, low, high, state_re, state_im, first, pad, out):
    """Add the modes of a body to the samples [low, high) of the stretch from `anchor` to `end`; the new anchor, at most `high`.

    Chunks are counted from `anchor`, the last one ends at `end`; the state advances over those that lie before `high`.
    """
    # A chunk of which the begin was heard before; whole ones; and one of which not all is heard now, or that is short.
    head = min(min(SOUND_CHUNK, end - anchor), high - anchor) if low > anchor else 0
    head_ends = head == min(SOUND_CHUNK, end - anchor)
    begin = anchor + head
    full = (high - begin) // SOUND_CHUNK if head == 0 or head_ends else 0
    last = begin + full * SOUND_CHUNK
    tail = high - last
    tail_ends = tail == min(SOUND_CHUNK, end - last)
    # Both ends of the stretch are summed in a pad, so that whole vectors serve there too.
    for j in range(SOUND_CHUNK):
        pad[0, j], pad[1, j] = 0.0, 0.0
    for j in range(low - anchor, head):
        pad[0, j] = out[anchor - first + j]
    for j in range(tail):
        pad[1, j] = out[last - first + j]
    for k in range(0, len(state_re), WAVE_ROWS):
        re = (state_re[k], state_re[k + 1], state_re[k + 2], state_re[k + 3])
        im = (state_im[k], state_im[k + 1], state_im[k + 2], state_im[k + 3])
        row = body_first + k
        if head > 0:
            for column in range(0, head, WAVE_SAMPLES):
                add_waves(pad[0], column, step_im, step_re, row, column, re, im)
            if head_ends:
                re, im = _turned(step_re, step_im, row, head, re, im)
        for chunk in range(full):
            at = begin - first + chunk * SOUND_CHUNK
            for column in range(0, SOUND_CHUNK, WAVE_SAMPLES):
                add_waves(out, at + column, step_im, step_re, row, column, re, im)
            re, im = _turned(step_re, step_im, row, SOUND_CHUNK, re, im)
        if tail > 0:
            for column in range(0, tail, WAVE_SAMPLES):
                add_waves(pad[1], column, step_im, step_re, row, column, re, im)
            if tail_ends:
                re, im = _turned(step_re, step_im, row, tail, re, im)
        state_re[k], state_re[k + 1], state_re[k + 2], state_re[k + 3] = re
        state_im[k], state_im[k + 1], state_im[k + 2], state_im[k + 3] = im
    for j in range(low - anchor, head):
        out[anchor - first + j] = pad[0, j]
    for j in range(tail):
        out[last - first + j] = pad[1, j]
    if head > 0 and not head_ends:
        return anchor
    return high if tail_ends else last


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
    "i8, i8[::1], f8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], "
    "i8[::1], i8[:,::1], f8[:,::1], f8[::1], f8[::1], i8[::1], i8[:,::1], f8[::1], i8[::1], f8[::1], f8[::1], f8[::1]"
)
def ring_block(
    first, body_first, modes, index, step_re, step_im, part_re, part_im,
    contact_first, contact_ints, contacts, u, v, event_first, events, event_delay,
    anchor, state_re, state_im, out,
):  # fmt: skip
    """Samples first, first + 1, ... of all bodies, added to `out`; the states advance.

    Body b has the modes [body_first[b], body_first[b + 1]), the contacts [contact_first[b], contact_first[b + 1]) that last
    within these samples, and the events [event_first[b], event_first[b + 1]): begins and ends of contacts in the order of their
    samples, (sample, sign, contact). Short contacts, most of those of hard things, have their end alone, and that even if it
    comes after these samples.
    """
    stop = first + len(out)
    most = 0
    for body in range(len(body_first) - 1):
        most = max(most, body_first[body + 1] - body_first[body])
    scratch, pad = np.empty((7, most)), np.zeros((2, SOUND_CHUNK))
    for body in range(len(body_first) - 1):
        low, high = body_first[body], body_first[body + 1]
        count = high - low
        # Views of the body's own modes: loops over all of an array become SIMD.
        decay, angle = modes[DECAY, low:high], modes[ANGLE, low:high]
        gain, short = modes[GAIN, low:high], modes[SHORT, low:high]
        columns, rows = index[0, low:high], index[1, low:high]
        re, im = state_re[low:high], state_im[low:high]
        weight, z_re, z_im = scratch[0, :count], scratch[1, :count], scratch[2, :count]
        turn_re, turn_im = scratch[3, :count], scratch[4, :count]
        last_re, last_im = scratch[5, :count], scratch[6, :count]
        one_re, one_im = part_re[SOUND_PARTS, low:high], part_im[SOUND_PARTS, low:high]
        for row in range(contact_first[body], contact_first[body + 1]):
            if contact_ints[row, WHOLE] == 1:
                continue
            begin, end = max(contact_ints[row, BEGIN], first), min(contact_ints[row, END], stop)
            if begin < end:
                at_u, at_v = contact_ints[row, FIRST], contact_ints[row, SECOND]
                _weigh(gain, short, angle, columns, rows, u, v, at_u, at_v, contacts[row, LENGTH], weight)
                _answer(decay, angle, contacts[row, DRAWN], weight, z_re, z_im)
                _touch(decay, angle, z_re, z_im, contacts[row], contact_ints[row, BEGIN], begin, end, first, out)
        event, last = event_first[body], event_first[body + 1]
        at, heard = anchor[body], first
        loud = False
        for k in range(count):
            if re[k] != 0.0 or im[k] != 0.0:
                loud = True
        while True:
            if not loud:
                at = heard
            while event < last and events[event, 0] <= at and (events[event, 0] < stop or events[event, 0] == first):
                row = events[event, 2]
                at_u, at_v = contact_ints[row, FIRST], contact_ints[row, SECOND]
                _weigh(gain, short, angle, columns, rows, u, v, at_u, at_v, contacts[row, LENGTH], weight)
                _answer(decay, angle, contacts[row, DRAWN], weight, z_re, z_im)
                _turn(decay, angle, part_re, part_im, low, event_delay[event], turn_re, turn_im)
                if contact_ints[row, WHOLE] == 1:
                    # Its begin and its end at once.
                    begin, end = contact_ints[row, BEGIN], contact_ints[row, END]
                    _turn(decay, angle, part_re, part_im, low, contacts[row, DELAY], last_re, last_im)
                    _short(decay, angle, z_re, z_im, last_re, last_im, one_re, one_im, contacts[row], begin, end, first, out)
                    for k in range(count):
                        turn_re[k] -= last_re[k]
                    for k in range(count):
                        turn_im[k] -= last_im[k]
                _push(z_re, z_im, turn_re, turn_im, contacts[row, FORCE] * events[event, 1], last_re, last_im, re, im)
                event += 1
                loud = True
            if heard >= stop:
                break
            # On to the next event; while it rings no farther than the next look for silence.
            end = stop if not loud else (at // SOUND_FRAME + 1) * SOUND_FRAME
            if event < last:
                end = min(end, events[event, 0])
            until = min(end, stop)
            if loud:
                at = _ring(step_re, step_im, low, at, end, heard, until, re, im, first, pad, out)
                if at == end and end % SOUND_FRAME == 0:
                    loud = _silence(re, im)
            heard = until
        anchor[body] = at
        # The first samples of short contacts that end after this block, in the order of their ends, as in one block.
        while event < last:
            row = events[event, 2]
            at_u, at_v = contact_ints[row, FIRST], contact_ints[row, SECOND]
            _weigh(gain, short, angle, columns, rows, u, v, at_u, at_v, contacts[row, LENGTH], weight)
            _answer(decay, angle, contacts[row, DRAWN], weight, z_re, z_im)
            _turn(decay, angle, part_re, part_im, low, contacts[row, DELAY], turn_re, turn_im)
            begin, end = contact_ints[row, BEGIN], contact_ints[row, END]
            _short(decay, angle, z_re, z_im, turn_re, turn_im, one_re, one_im, contacts[row], begin, end, first, out)
            event += 1


@exact_kernel("i8, i8[::1], f8[::1], f8[::1], f8[::1], f8[::1]")
def click_rows(first, sample, delay, drawn, size, out):
    """Add size sin(2 pi t / drawn), 0 <= t <= drawn, t = delay at `sample`, to the samples first, first + 1, ..."""
    for row in range(len(sample)):
        step = 2.0 * math.pi / drawn[row]
        n = max(sample[row], first)
        while n < first + len(out) and delay[row] + (n - sample[row]) < drawn[row]:
            out[n - first] += size[row] * math.sin(step * (delay[row] + (n - sample[row])))
            n += 1


@exact_kernel("f8[::1], f8[:,::1]")
def wave_rows(angle, out):
    """cos and sin of 0, 1, 2, ... times each angle, in pairs of columns."""
    for row in range(len(angle)):
        re, im = math.cos(angle[row]), math.sin(angle[row])
        a, b = 1.0, 0.0
        for n in range(out.shape[1] // 2):
            out[row, 2 * n], out[row, 2 * n + 1] = a, b
            a, b = a * re - b * im, a * im + b * re


@exact_kernel("f8[::1], f8[:,::1], f8[:,::1]")
def table_rows(coordinate, table, out):
    """Columns of a table at each coordinate, linear between its rows, which stand at equal steps from 0 to 1."""
    for row in range(len(coordinate)):
        at = min(max(coordinate[row], 0.0), 1.0) * (table.shape[0] - 1)
        low = min(int(at), table.shape[0] - 2)
        part = at - low
        before, after, values = table[low], table[low + 1], out[row]
        for k in range(len(values)):
            values[k] = (1.0 - part) * before[k] + part * after[k]


@exact_kernel("f8[::1], f8[::1], f8[::1]")
def turn_rows(x, y, out):
    """The direction of (x, y) as a part of a turn, from 0 to 1."""
    for row in range(len(x)):
        turn = math.atan2(y[row], x[row]) / (2.0 * math.pi)
        out[row] = turn if turn >= 0.0 else turn + 1.0


@exact_kernel("f8[::1], f8[::1], f8[::1], f8[::1], f8, f8, f8[::1]")
def hertz_rows(speed, modulus, radius, mass, ball, longest, out):
    """Seconds of contacts (`contact.py`); `ball`: E / (1 - nu^2) of the impactor, Pa, 0 for a drop."""
    for row in range(len(speed)):
        if not speed[row] > 0.0:
            out[row] = longest
        elif ball == 0.0:
            out[row] = min(2.0 * radius[row] / speed[row], longest)
        else:
            both = ball * modulus[row] / (ball + modulus[row])
            ratio = mass[row] * mass[row] / (radius[row] * both * both * speed[row])
            out[row] = min(2.868 * math.pow(ratio, 0.2), longest)
