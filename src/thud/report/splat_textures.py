"""Splat textures for pictures: as fine as each collider needs."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thud.particles.colliders.collider_set import as_set
from thud.particles.maps.map_encoding import scene_box
from thud.particles.maps.parameters import DEFAULT_EXTENT, MeshCharts, charts_of
from thud.particles.maps.textures import splat
from thud.results import ParticleImpacts


def some(impacts: ParticleImpacts, rows: Any) -> ParticleImpacts:
    """Those rows of impacts."""
    return ParticleImpacts(*(getattr(impacts, one.name)[rows] for one in fields(impacts)))


def splat_textures(
    impacts: ParticleImpacts, colliders: Any, *, radius: float, finest: int = 1024, extent: float = DEFAULT_EXTENT
) -> list[npt.NDArray[np.float32]]:
    """Coverage from 0 to 1 of each collider, (q, q) each: `particles.splat` with texels of a quarter of the radius.

    Parameters
    ----------
    impacts, colliders : the impacts and what they hit
    radius : metres, of the fastest one
    finest : texels a side at most
    extent : as in `particles.impact_coordinates`
    """
    ready = as_set(colliders)
    fastest = float(np.max(impacts.speed, initial=0.0))
    textures = []
    for place, collider in enumerate(ready.colliders):
        here = np.flatnonzero(impacts.collider == place)
        if not len(here):
            textures.append(np.zeros((1, 1), np.float32))
            continue
        box = scene_box(as_set([collider]), extent)
        charts = charts_of(collider, extent)
        tiles = getattr(charts, "side", 1)
        wide = tiles * float(np.max(box[3:] - box[:3]))
        if isinstance(charts, MeshCharts):
            # All charts share one scale: a unit of u is so many metres.
            wide = charts.metres()
        texels = int(np.clip(4.0 * wide / radius, 8, finest))
        alone = replace(some(impacts, here), collider=np.zeros(len(here), np.int64))
        textures.append(splat(alone, [collider], resolution=texels, radius=radius, fastest=fastest, extent=extent)[0])
    return textures
