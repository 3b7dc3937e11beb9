"""Rasterisers that can be used here, and how long their parts of an algorithm take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reproductions.knott_image.scenes import crowd, drawing_of
from reproductions.report import Report
from thud.errors import ThudError
from thud.imagespace.rasteriser import Drawing, Rasteriser, Work, make_rasteriser


def available(report: Report) -> list[str]:
    """Names of the backends; says which renderer each is, and why one is left out."""
    found = []
    for backend in ("cpu", "gl"):
        try:
            raster = make_rasteriser(backend, None)
            raster.load(drawing_of(crowd(2, 0), (32, 32)))
        except (ImportError, OSError, RuntimeError, ThudError) as error:
            report.say(f'Without `backend="{backend}"`: {error}')
            continue
        report.say(f'`backend="{backend}"`: {raster.name}')
        raster.release()
        found.append(backend)
    return found


@dataclass(frozen=True)
class Times:
    """Seconds of one run of an algorithm."""

    render: float
    """Everything up to and between reads: loading is left out, as the paper's geometry is on the card."""
    read: float
    """Copies of buffers to main memory."""
    parse: float
    """From the last read to the end."""
    work: Work
    answer: Any

    @property
    def total(self) -> float:
        """All of it."""
        return self.render + self.read + self.parse


class _Watch:
    """A rasteriser that times its reads."""

    def __init__(self, raster: Rasteriser) -> None:
        self._raster, self.read, self.last = raster, 0.0, 0.0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._raster, name)
        if not name.startswith("read_"):
            return value

        def timed() -> Any:
            begin = time.perf_counter()
            answer = value()
            self.last = time.perf_counter()
            self.read += self.last - begin
            return answer

        return timed


def timed(raster: Rasteriser, drawing: Drawing, algorithm: Callable[..., Any]) -> Times:
    """One run of an algorithm on a drawing."""
    raster.load(drawing)
    raster.work = Work()
    watch = _Watch(raster)
    begin = time.perf_counter()
    answer = algorithm(watch, drawing.count)
    end = time.perf_counter()
    parse = end - watch.last if watch.last else 0.0
    return Times(end - begin - watch.read - parse, watch.read, parse, raster.work, answer)
