"""Figures 2.6 and A.3: the projected surface, its base primitives, and the warship."""

from __future__ import annotations

from reproductions.report import Report
from reproductions.terrains import CAVE_DOMAIN, cave_field
from reproductions.warship import warship
from reproductions.yang.pictures import body_picture, surface_picture
from thud.terrain import from_field


def run(size: str, report: Report) -> None:
    """The pictures, small at ci."""
    report.heading("Figures 2.6 and A.3: surface, primitives, warship")
    made = from_field(cave_field(0), *CAVE_DOMAIN, 12.0 if size == "ci" else 4.0, samples=8 if size == "ci" else 16)
    surface, columns = made.surface, 120 if size == "ci" else 900
    for name, picture, what in (("figure_2_6", surface_picture, surface), ("figure_a_3", body_picture, warship())):
        picture(what, report.out / f"{report.name}_{name}.png", columns=columns)  # type: ignore[operator]
        report.lines += [f"![{name}]({report.name}_{name}.png)", ""]
    report.compare(
        "The base mesh is coarse; the projected surface has slopes that cannot be seen in it, cliffs, tunnels and caves.",
        f"{len(surface.primitives)} primitives carry {surface.sample_count} patches, "  # type: ignore[arg-type]
        f"off from the field they were made from by {made.error_mean * 1000:.2f} mm in the mean.",
        surface.sample_count > 50 * len(surface.primitives) or size == "ci",
    )
