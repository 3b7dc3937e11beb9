"""Interference in image space: which closed meshes overlap, found by drawing them. No tree, no preprocessing."""

# At once, not on first use: the function has the name of its module, which would take its place.
from thud.imagespace.coarse import coarse_model
from thud.imagespace.interference import interference
from thud.imagespace.options import ImageOptions
from thud.results import Interference

__all__ = ["ImageOptions", "Interference", "coarse_model", "interference"]


def __dir__() -> list[str]:
    return sorted(__all__)
