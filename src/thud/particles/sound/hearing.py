"""Which of a body's modes are worth ringing: those that are heard.

A can has 10,000 modes below 20 kHz. The ear hears energy in bands of about a third of an octave; so each band that has any
modes keeps its loudest ones, and these take over the energy of those that were left out: the spectrum by bands stays what all
modes make it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.particles.sound.tolerances import HEARING_HIGHEST, HEARING_LOWEST


def a_weighting(frequencies: Floats) -> Floats:
    """How loud a tone of these frequencies (Hz) seems beside one of 1 kHz, as a factor of amplitude; IEC 61672."""
    f2 = np.asarray(frequencies) ** 2
    low, high = 20.598997**2, 12194.217**2
    weight = high * f2**2 / ((f2 + low) * np.sqrt((f2 + 107.65265**2) * (f2 + 737.86223**2)) * (f2 + high))
    return weight * 10.0 ** (2.0 / 20.0)


def third_octaves(frequencies: Floats) -> Ints:
    """Number of the third of an octave, 0 around 1 kHz."""
    return np.round(3.0 * np.log2(np.asarray(frequencies) / 1000.0)).astype(np.int64)


def audible(frequencies: Floats) -> npt.NDArray[np.bool_]:
    """Whether a mode can be heard as a tone: between 20 Hz and 20 kHz."""
    return (frequencies >= HEARING_LOWEST) & (frequencies <= HEARING_HIGHEST)


def choose_modes(frequencies: Floats, energy: Floats, count: int) -> tuple[Ints, Floats]:
    """The `count` modes to keep, in the order of frequency, and the factors of their amplitudes.

    Parameters
    ----------
    frequencies : (K,) Hz
    energy : (K,) of the sound of each at the same strike, averaged over where it lands
    count : at most so many are kept; each third of an octave that has modes keeps an equal share, if it has so many
    """
    loud = energy * a_weighting(frequencies) ** 2
    bands = third_octaves(frequencies)
    names, band = np.unique(bands, return_inverse=True)
    band = band.reshape(-1)
    # Rank within the band, the loudest first; ties by frequency and place.
    order = np.lexsort((np.arange(len(loud)), frequencies, -loud, band))
    rank = np.empty(len(loud), np.int64)
    rank[order] = np.arange(len(loud)) - np.searchsorted(band[order], np.arange(len(names)))[band[order]]
    # The largest equal share that fits; what is left over goes to the loudest of the next rank.
    sizes = np.bincount(band, minlength=len(names))
    share = 0
    while share < sizes.max(initial=0) and int(np.minimum(sizes, share + 1).sum()) <= count:
        share += 1
    kept = rank < share
    next_ones = np.flatnonzero(rank == share)
    next_ones = next_ones[np.argsort(-loud[next_ones], kind="stable")][: max(0, count - int(kept.sum()))]
    kept[next_ones] = True
    whole, left = (np.bincount(band, energy * w, minlength=len(names)) for w in (np.ones(len(band)), kept))
    factor = np.sqrt(whole / np.where(left > 0.0, left, 1.0))
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(frequencies[rows], kind="stable")]
    return rows, factor[band[rows]]
