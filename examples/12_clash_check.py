"""What collides in an assembly: a pump on its base plate, checked, explained, drawn, and written as one HTML page."""

from __future__ import annotations

import tempfile
from pathlib import Path

import thud
from thud.report.clash.assembly import EXPECTED, write_assembly


def run(folder: Path | None = None) -> thud.report.ClashReport:
    """Reads the assembly from a file, as any other, with a clearance of 1 mm; accepts one clash; writes a page and a
    picture."""
    folder = Path(tempfile.mkdtemp()) if folder is None else folder
    write_assembly(folder / "pump.glb")
    scene = thud.io.load_scene(folder / "pump.glb")
    report = thud.report.check(scene, clearance=0.001)
    for clash in report:
        print(f"{clash.kind:>11}  {clash.explain()}")
    thud.picture(report, report.clashes[4], file=folder / "clash.png")
    size = thud.report.write_page(report, folder / "clashes.html", thud.report.clash_pictures(report))
    print(f"{report.summary()}; {folder / 'clashes.html'}, {size:,} bytes")

    # Decided once, not shown again.
    known = thud.report.Baseline().updated(report, accept=[report.clashes[-1].id], note="a running fit")
    print(f"with the baseline: {known.apply(report).summary()}")
    return report


def check(report: thud.report.ClashReport) -> None:
    """What was put there is found, and nothing else."""
    found = {(clash.kind, clash.name_a, clash.name_b) for clash in report}
    assert found == {(kind, *sorted((a, b))) for kind, a, b, _ in EXPECTED}
    for clash in report:
        if clash.kind == "hard":
            moved = thud.Pose(clash.normal * clash.depth * 1.001) @ report.scene.parts[clash.b].pose
            a, b = report.scene.mesh_of(clash.a), report.scene.mesh_of(clash.b)
            assert not thud.intersects(a, b, report.scene.parts[clash.a].pose, moved)[0]


if __name__ == "__main__":
    check(run(Path()))
