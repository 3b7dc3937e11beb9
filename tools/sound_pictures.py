"""Spectrograms, spectra by thirds of an octave and levels of every named material, and stones in stereo, to see and to hear.

    python -m tools.sound_pictures FOLDER    # writes pictures, levels.md and stereo.wav there
    python -m tools.sound_pictures docs      # those of docs/sound.md; the table goes into the page

The storm of all: hailstones of 1 cm at 13 m/s, 40 a second, all over one body, heard 1 m away.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thud.particles import Listener, Material, ParticleSystem, Rectangle, materials, render_sound, write_sound
from thud.particles.sound.hearing import a_weighting

Floats = npt.NDArray[np.float64]

RATE, SECONDS, STRIKES = 48_000, 4, 160

NAMED: dict[str, Material] = {
    "sheet_metal()": materials.sheet_metal(),
    "glass()": materials.glass(),
    "tin_can()": materials.tin_can(),
    "tin_can(0.25, 0.7, 0.6e-3)": materials.tin_can(0.25, 0.7, 0.6e-3),
    "lid()": materials.lid(),
    "wood()": materials.wood(),
    "earth()": materials.earth(),
}

OCTAVES = [31.5, 63, 125, 250, 500, 1000, 2000, 4000, 8000, 16000]


def storm(material: Material) -> Floats:
    """Hail all over one body."""
    rng = np.random.default_rng(1)
    time = rng.uniform(0.0, SECONDS, STRIKES)
    impacts = (time, np.zeros(STRIKES, np.int64), np.full(STRIKES, 13.0))
    return render_sound(impacts, [material], 0.0, SECONDS, place=rng.random((STRIKES, 2)))


def strike(material: Material) -> Floats:
    """One hailstone."""
    return render_sound(([0.05], [0], [13.0]), [material], 0.0, 1.0, place=[[0.31, 0.43]])


def band_levels(sound: Floats, middles: Floats, width: float) -> Floats:
    """Sound pressure levels (dB re 20 uPa) of bands of so many octaves."""
    power = np.abs(np.fft.rfft(sound)) ** 2 * 2.0 / len(sound) ** 2
    frequency = np.fft.rfftfreq(len(sound), 1.0 / RATE)
    found = []
    for middle in middles:
        inside = (frequency >= middle * 2 ** (-width / 2)) & (frequency < middle * 2 ** (width / 2))
        found.append(10.0 * np.log10(max(power[inside].sum(), 1e-30) / 4e-10))
    return np.array(found)


def a_level(sound: Floats) -> float:
    """dB(A)."""
    power = np.abs(np.fft.rfft(sound)) ** 2 * 2.0 / len(sound) ** 2
    frequency = np.maximum(np.fft.rfftfreq(len(sound), 1.0 / RATE), 1e-3)
    return float(10.0 * np.log10((power * a_weighting(frequency) ** 2).sum() / 4e-10))


def table() -> str:
    """The levels as Markdown."""
    lines = [
        "| material | modes | from, to (Hz) | -60 dB in | level | " + " | ".join(f"{o:g}" for o in OCTAVES) + " |",
        "|" + "---|" * (5 + len(OCTAVES)),
    ]
    for name, material in NAMED.items():
        sound, f = storm(material), np.asarray(material.frequencies)
        octaves = band_levels(sound, np.array(OCTAVES), 1.0)
        has = [((f >= o / np.sqrt(2)) & (f < o * np.sqrt(2))).any() for o in OCTAVES]
        cells = [f"{value:.0f}" if there else f"({value:.0f})" for value, there in zip(octaves, has, strict=True)]
        first = (
            f"`{name}`",
            len(f),
            f"{f.min():.0f}, {f.max():.0f}",
            f"{material.ring_time():.2f} s",
            f"{a_level(sound):.0f} dB(A)",
        )
        lines.append("| " + " | ".join([*map(str, first), *cells]) + " |")
    return "\n".join(lines)


def spectrograms(path: Path) -> None:
    """One strike on each, over time and frequency."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 4, figsize=(13, 6.2), sharex=True, sharey=True, layout="constrained")
    image = None
    for axis, (name, material) in zip(axes.flat, NAMED.items(), strict=False):
        sound = strike(material)
        window, hop = 1024, 128
        starts = np.arange(0, 24_000 - window, hop)
        frames = np.array([sound[s : s + window] * np.hanning(window) for s in starts])
        power = 20.0 * np.log10(np.abs(np.fft.rfft(frames, axis=1)).T + 1e-12)
        power -= power.max()
        frequency = np.fft.rfftfreq(window, 1.0 / RATE) / 1000.0
        image = axis.pcolormesh((starts + window / 2) / RATE, frequency, power, vmin=-80, vmax=0, cmap="magma", rasterized=True)
        axis.set_yscale("symlog", linthresh=0.2, linscale=0.3)
        axis.set_ylim(0.03, 20.0)
        axis.set_yticks([0.1, 0.25, 0.5, 1, 2, 4, 8, 16], ["0.1", "0.25", "0.5", "1", "2", "4", "8", "16"])
        axis.minorticks_off()
        axis.set_title(name, family="monospace", fontsize=9)
    for axis in axes[:, 0]:
        axis.set_ylabel("kHz")
    for axis in axes[1]:
        axis.set_xlabel("s")
    axes[0, 3].tick_params(labelbottom=True)
    axes.flat[-1].axis("off")
    figure.colorbar(image, cax=axes.flat[-1].inset_axes([0.1, 0.0, 0.08, 1.0]), label="dB beside its loudest")
    figure.suptitle("One hailstone of 1 cm at 13 m/s", fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def spectra(path: Path) -> None:
    """Thirds of an octave of a storm on each; and how speed changes one of them."""
    import matplotlib.pyplot as plt

    middles = 1000.0 * 2.0 ** (np.arange(-16, 14) / 3.0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained", width_ratios=[1.5, 1])
    styles = ["-", "--", "-", "--", "-", "--", "-"]
    for (name, material), style in zip(NAMED.items(), styles, strict=True):
        left.semilogx(middles, band_levels(storm(material), middles, 1 / 3), style, label=name, lw=1.6)
    left.set_ylim(20, 115)
    left.set_ylabel("dB re 20 µPa, thirds of an octave, 1 m")
    left.set_title("hail all over one body, 40 stones a second", fontsize=10)
    left.legend(fontsize=8, prop={"family": "monospace", "size": 8}, loc="upper left")
    for speed in (0.3, 1.0, 4.0, 16.0):
        sound = render_sound(([0.05], [0], [speed]), [materials.wood()], 0.0, 1.0, place=[[0.31, 0.43]])
        levels = band_levels(sound, middles, 1 / 3)
        right.semilogx(middles, levels - levels[middles < 1000].max(), label=f"{speed:g} m/s", lw=1.6)
    right.set_ylim(-40, 15)
    right.set_ylabel("dB beside its loudest third below 1 kHz")
    right.set_title("wood(): harder hits are brighter", fontsize=10)
    right.legend(fontsize=8)
    for axis in (left, right):
        axis.set_xticks([31.5, 63, 125, 250, 500, 1000, 2000, 4000, 8000, 16000])
        axis.set_xticklabels(["31", "63", "125", "250", "500", "1k", "2k", "4k", "8k", "16k"])
        axis.minorticks_off()
        axis.set_xlim(25, 20_000)
        axis.set_xlabel("Hz")
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def stereo(folder: Path, picture: Path) -> None:
    """Stones that walk over a roof from left to right; what each ear hears."""
    import matplotlib.pyplot as plt
    import soundfile

    x = np.linspace(-9.0, 9.0, 7)
    roof = Rectangle([-10, 4, 0], [20, 0, 0], [0, 4, 0], material=materials.sheet_metal())
    hail = ParticleSystem(np.column_stack([x + 0.07, np.full(7, 6.1), 5.0 + 5.0 * np.arange(7)]), [0.0, 0.0, -10.0])
    write_sound(folder / "stereo.wav", hail, [roof], 0.0, 4.0, listener=Listener([0.0, 0.0, 1.7]))
    samples, rate = soundfile.read(folder / "stereo.wav")
    time = np.arange(len(samples)) / rate
    figure, axes = plt.subplots(3, 1, figsize=(11, 5.4), layout="constrained", height_ratios=[1, 1, 1.1], sharex=True)
    for ear, (axis, name) in enumerate(zip(axes[:2], ("left ear", "right ear"), strict=True)):
        axis.plot(time, samples[:, ear], lw=0.5, color=("tab:blue", "tab:red")[ear])
        axis.set_ylim(-1, 1)
        axis.set_ylabel(name)
    where, difference = [], []
    for k in range(7):
        begin = int((0.5 + 0.5 * k) * rate)
        left, right = (np.sqrt(np.mean(samples[begin : begin + rate // 8, ear] ** 2)) for ear in (0, 1))
        where.append(0.5 + 0.5 * k)
        difference.append(20.0 * np.log10(right / left))
    axes[2].bar(where, difference, width=0.2, color=["tab:blue" if d < 0 else "tab:red" for d in difference])
    for at, d, place in zip(where, difference, x, strict=True):
        axes[2].annotate(f"{place:+.0f} m", (at, d), ha="center", va="bottom" if d >= 0 else "top", fontsize=8)
    axes[2].set_ylim(-16, 16)
    axes[2].axhline(0.0, color="k", lw=0.6)
    axes[2].set_ylabel("right - left, dB")
    axes[2].set_xlabel("s; stones that land from 9 m left to 9 m right of the listener, 6 m ahead")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def main(folder: Path) -> None:
    """Write everything."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    spectrograms(folder / "sound_spectrograms.png")
    spectra(folder / "sound_spectra.png")
    page = folder / "sound.md"
    if page.exists():
        import tempfile

        text, mark = page.read_text(encoding="utf-8"), "<!-- levels -->"
        before, _, after = text.partition(mark)
        page.write_text(before + mark + "\n" + table() + "\n" + mark + after.partition(mark)[2], encoding="utf-8")
        with tempfile.TemporaryDirectory() as away:
            stereo(Path(away), folder / "sound_stereo.png")
    else:
        (folder / "levels.md").write_text(table() + "\n", encoding="utf-8")
        stereo(folder, folder / "sound_stereo.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "thud-sound"))
