"""Interference in image space: which closed meshes overlap and how deep, found by drawing them. No tree, no preprocessing."""

# At once, not on first use: the function has the name of its module, which would take its place.
from thud.imagespace.coarse import coarse_model
from thud.imagespace.contacts import contacts
from thud.imagespace.interference import interference
from thud.imagespace.options import ImageOptions
from thud.imagespace.piercings import piercings
from thud.results import ImageContacts, Interference, Piercings

__all__ = [
    "ImageContacts",
    "ImageOptions",
    "Interference",
    "Piercings",
    "coarse_model",
    "contacts",
    "interference",
    "piercings",
]


def __dir__() -> list[str]:
    return sorted(__all__)
