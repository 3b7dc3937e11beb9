"""PNG pictures of many clashes, on all cores."""

from __future__ import annotations

from thud._core.png import png_bytes
from thud.report.clash.candidates import place
from thud.report.clash.clash import Clash, ClashReport
from thud.report.clash.picture import Painter
from thud.report.clash.tasks import Progress, run_tasks


def clash_pictures(
    report: ClashReport,
    *,
    most: int = 200,
    width: int = 480,
    height: int = 360,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, bytes]:
    """PNG files of the gravest clashes, by id.

    Parameters
    ----------
    report : what `check` returned
    most : how many at most; some 0.3 s and 15 kB each
    width, height : pixels
    threads : how many to use; default all cores
    progress : called with (what, done, total)
    """
    painter = Painter(report.scene)
    chosen = (*report.clashes, *report.known)[:most]
    if not chosen:
        return {}
    # Made once, before threads ask for it.
    _ = painter.placed

    def draw(clash: Clash) -> bytes:
        at = place(report.scene, report.poses(clash)) if clash.configuration else None
        return png_bytes(painter.clash(clash, width, height, at))

    images = run_tasks("pictures", draw, chosen, threads, progress)
    return {clash.id: image for clash, image in zip(chosen, images)}
