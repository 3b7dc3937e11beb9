"""`thud demo`: a small scene, all main queries on it, and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    picture: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("thud-demo.png"),
    pairs: Annotated[int, typer.Option(help="How many pairs the timed batch has.", min=1)] = 200_000,
) -> None:
    """Drop a few shapes into one scene, ask what touches what, and draw it."""
    import time

    import numpy as np

    import thud
    from thud._core.threads import core_count
    from thud.cli.demo_picture import draw
    from thud.cli.demo_scene import scene

    typer.echo("compiling or loading kernels ...")
    names, shapes, poses = scene()
    index = np.stack(np.triu_indices(len(shapes), 1), axis=1)
    found = thud.distance_pairs(shapes, index, poses, signed=True)
    typer.echo(f"\n{len(shapes)} shapes, {len(index)} pairs: what touches what, and how far apart is the rest")
    order = np.argsort(found.distance, kind="stable")
    for row in order[:10]:
        a, b = names[index[row, 0]], names[index[row, 1]]
        d = found.distance[row]
        say = f"{-d * 100:7.2f} cm deep" if d < 0 else f"{d * 100:7.2f} cm apart"
        typer.echo(f"  {a:>10} - {b:<10} {say}")
    touching = index[found.distance <= 0]
    total = 0
    for a, b in touching:
        total += len(thud.contacts(shapes[a], shapes[b], poses[int(a)], poses[int(b)]).depth)
    typer.echo(f"{len(touching)} pairs touch, with {total} contact points")

    # The same question for many poses at once: that is what thud is for.
    rng = np.random.default_rng(1)
    one, other = thud.ConvexHull(rng.normal(size=(60, 3))), thud.ConvexHull(rng.normal(size=(60, 3)))
    spin = rng.normal(size=(pairs, 4))
    spin /= np.linalg.norm(spin, axis=1, keepdims=True)
    many = thud.Pose(rng.uniform(-4, 4, (pairs, 3)), spin)
    thud.distance(one, other, None, many[:1])
    begin = time.perf_counter()
    result = thud.distance(one, other, None, many)
    seconds = time.perf_counter() - begin
    typer.echo(
        f"\n{pairs:,} distances of two convex hulls with witness points in {seconds:.3f} s "
        f"({seconds / pairs * 1e6:.2f} us each, {core_count()} threads); {np.mean(result.distance == 0):.0%} overlap"
    )
    draw(names, shapes, poses, picture)
    typer.echo(f"picture: {picture}")
