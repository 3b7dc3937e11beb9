"""Figure 8: memory of the discretised mappings over the levels that have them, 32 x 32 samples."""

from __future__ import annotations

import thud
from reproductions.progress import progress
from reproductions.vogiannou.report import Report
from thud.bounds.support_planes import support_planes

LEVELS = {"ci": 3, "standard": 8, "full": 10}


def run(meshes: dict[str, thud.TriangleMesh], size: str, report: Report) -> None:
    """The table, the plot, the statements."""
    report.heading("Figure 8: memory of the discretised mappings, 32 x 32 samples, KiB")
    levels = range(1, LEVELS[size] + 1)
    memory: dict[str, list[float]] = {}
    for name, mesh in progress(meshes.items(), len(meshes), "figure 8"):
        # Mappings come level by level, so those of fewer levels are the first ones.
        top = mesh.tree.skip, mesh.tree.first, mesh.corners
        faces = support_planes(*top, "face", len(levels), 32)
        level = mesh.tree.levels[(faces.slot >= 0)]
        nodes = [int((level < depth).sum()) for depth in levels]
        memory[f"DFSPM {name}"] = [(faces.plane_starts[n] * 24 + n * 1024 * 4) / 1024 for n in nodes]
        assert memory[f"DFSPM {name}"][-1] * 1024 == faces.nbytes
        small = support_planes(*top, "vertex", 2, 32)
        memory[f"DVSPM {name}"] = [n * small.nbytes / len(small.samples) / 1024 for n in nodes]
    report.table(["mapping", *levels], [[key, *(float(v) for v in values)] for key, values in memory.items()])
    for key, values in memory.items():
        for depth, value in zip(levels, values):
            report.row("8", key.split(" ", 1)[1], key.split()[0], depth, value)
    faces = [memory[key] for key in memory if "DFSPM" in key]
    vertices = [memory[key] for key in memory if "DVSPM" in key]
    report.compare(
        "The VSPM size is the same for all models, since it depends only on the sampling array.",
        f"{vertices[0][0]:.0f} KiB a node (1,024 planes of 24 bytes and samples of 4).",
        all(v[:5] == vertices[0][:5] for v in vertices),
    )
    share = [f / v for a, b in zip(faces, vertices) for f, v in zip(a, b)]
    report.compare(
        "Sharing planes works very well for the FSPM, which has a finite number of planes by definition.",
        f"DFSPM takes {100 * min(share):.0f} to {100 * max(share):.0f} % of DVSPM's memory. (At deep levels both grow with the "
        "number of nodes.)",
        max(share) < 1.0,
    )

    def draw(plt):
        figure, ax = plt.subplots(figsize=(6, 4.2))
        first = next(key for key in memory if "DVSPM" in key)
        ax.plot(levels, memory[first], "k^-", label="DVSPM, all models")
        for key in memory:
            if "DFSPM" in key:
                ax.plot(levels, memory[key], "o-", label=key)
        ax.set(xlabel="levels with SPM", ylabel="memory, KiB", yscale="log")
        ax.legend()
        return figure

    report.figure("figure_8", draw)
