"""How `World(midphase="image")` looks at its meshes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ImageOptions:
    """As the arguments of `interference`, but three views unless told otherwise; checked when it is made."""

    resolution: int | tuple[int, int] = 512
    """Pixels a side, or (width, height)."""
    views: int = 3
    layers: int | None = 1
    precision: float | None = None
    """Metres; None: one look."""
    backend: str = "cpu"

    def __post_init__(self) -> None:
        from thud.imagespace.interference import checked_options

        checked_options(self.resolution, self.views, self.layers, self.precision, self.backend)
        if isinstance(self.resolution, list):
            object.__setattr__(self, "resolution", tuple(self.resolution))
