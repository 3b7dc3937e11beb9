"""Tolerances and limits of `particles/sound/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: A mode of a struck material whose amplitude (full scale is 1) has fallen below this is silent from then on. Of no
#: consequence to any ear or file, and far above the denormal numbers (below 2e-308), whose arithmetic is slow. Absolute, since
#: the range of float64 is.
SOUND_SILENCE = 1e-150

#: Samples between looks for silent modes (a count), on a fixed grid, so that the samples do not depend on the blocks. In 64
#: samples a mode that matters does not fall from SOUND_SILENCE to the denormals: that takes a damping of 5 a sample.
SOUND_FRAME = 64

#: A sound that begins in the middle of a storm hears earlier impacts until they have fallen by so many decibels: 20 below the
#: 100 that are promised, since many tails add up.
SOUND_WARM_DECIBELS = 120.0

#: Peak of a file written with gain="auto", as a fraction of full scale: one decibel is left, since a player that resamples may
#: exceed the samples' own peak.
SOUND_HEADROOM = 10.0 ** (-1.0 / 20.0)
