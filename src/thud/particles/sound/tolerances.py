"""Tolerances and limits of `particles/sound/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: A mode of a struck material whose amplitude (pascals) has fallen below this is silent from then on. Of no
#: consequence to any ear or file, and far above the denormal numbers (below 2e-308), whose arithmetic is slow. Absolute, since
#: the range of float64 is.
SOUND_SILENCE = 1e-150

#: Samples between looks for silent modes (a count), on a fixed grid, so that the samples do not depend on the blocks. In 256
#: samples a mode that matters does not fall from SOUND_SILENCE to the denormals: that takes a damping of 1.4 a sample.
SOUND_FRAME = 256

#: Parts of a sample (a count) whose turns are tabulated; between them eight terms of a series are right to the last bits for
#: modes that fall by less than e a sample.
SOUND_PARTS = 32

#: Shortest contact, samples: a shorter one has more bandwidth than the samples. Its force is drawn out to two samples, at
#: which the sampled force still adds up to the impulse exactly; modes get what the true contact would have given them.
SOUND_SHORTEST_CONTACT = 2.0

#: Contacts of up to so many samples are taken at once, at their end; for longer ones two changes of the state cost less.
SOUND_SHORT_CONTACT = 6.0

#: Shortest click of the impactor itself, samples: it is one whole wave, and has to lie below half the rate to sound alike
#: wherever it falls between samples.
SOUND_SHORTEST_CLICK = 4.0

#: Longest contact, seconds. By Hertz's law it grows without end as the speed falls to 0, where nothing is heard.
SOUND_LONGEST_CONTACT = 0.02

#: Most samples of one array (a count, two ears count twice): 8 GiB, six hours at 48 kHz. Longer sounds come in blocks.
SOUND_SAMPLES = 2**30

#: A sound that begins in the middle of a storm hears earlier impacts until they have fallen by so many decibels: 20 below the
#: 100 that are promised, since many tails add up.
SOUND_WARM_DECIBELS = 120.0

#: Farther than this (metres) from a listener an impact before the sound's beginning is not asked for, though it would still be
#: on its way.
SOUND_WARM_DISTANCE = 500.0

#: Peak of a file written with gain="auto", as a fraction of full scale: one decibel is left, since a player that resamples may
#: exceed the samples' own peak.
SOUND_HEADROOM = 10.0 ** (-1.0 / 20.0)

#: Nearer than this (metres) to an ear a strike is no louder: the distance law is of a point, and bodies are not.
SOUND_NEAREST = 0.25

#: What is heard as a tone, Hz.
HEARING_LOWEST, HEARING_HIGHEST = 20.0, 20_000.0

#: Places on bodies are taken in steps of this part of their surface: far below what is heard, and far above the rounding of
#: coordinates, which may depend on how many are computed at once.
SOUND_PLACE_STEP = 2.0**-20

#: Points (a count) of tabulated mode shapes; between them they are linear. The highest have some 40 half waves: off by 1e-3.
SHAPE_POINTS = 1025
