"""[Vogiannou]: bounding volumes enhanced by support-plane mappings. Figures 7 to 11.

`python -m reproductions vogiannou [--size ci|standard|full] [--model bunny.ply]`.
"""

from __future__ import annotations

from pathlib import Path

import thud
from reproductions.mesh_files import fill_holes, read_mesh
from reproductions.models import models, small_models
from reproductions.vogiannou import docs, figure_7, figure_8, figure_9, figure_10, figure_11
from reproductions.vogiannou.report import Report


def run(size: str, files: list[Path] | None, out: Path) -> int:
    """Make all figures; returns how many of the paper's statements did not hold."""
    # Files of one name, in several folders, are told apart by their paths.
    stems = [path.stem for path in files or ()]
    chosen = {path.stem if stems.count(path.stem) == 1 else str(path): read_mesh(path) for path in files or ()}
    closed = {name: fill_holes(*mesh) for name, mesh in (chosen or (small_models() if size == "ci" else models())).items()}
    meshes = {name: thud.TriangleMesh(*mesh) for name, (mesh, _) in closed.items()}
    report = Report(size, out, generated=not files)
    for name, mesh in meshes.items():
        holes = closed[name][1]
        report.say(f"{name}: {mesh}" + (f"; holes filled, so that it has a volume: {holes}" if holes else ""))
    for figure in (figure_7, figure_8, figure_9, figure_10, figure_11):
        figure.run(meshes, size, report)
    failed = report.close()
    if size == "standard" and not files and out.resolve() == docs.RESULTS.parent:
        docs.update()
    return failed
