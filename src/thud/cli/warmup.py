"""`thud warmup`."""

from __future__ import annotations

import time
from typing import Annotated

import typer


def warmup(slowest: Annotated[int, typer.Option(help="How many of the slowest kernels to list.")] = 10) -> None:
    """Compile all kernels once, so that no later program waits for them."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from thud.warm import warmup as warm

    begin = time.perf_counter()
    columns = (
        TextColumn("compiling"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name.removeprefix("thud."))

        kernels = warm(progress=show)
    seconds = time.perf_counter() - begin
    compiled = [kernel for kernel in kernels if kernel.compiled]
    typer.echo(
        f"{len(kernels)} kernels ready in {seconds:.1f} s: {len(compiled)} compiled, {len(kernels) - len(compiled)} cached"
    )
    for kernel in sorted(compiled, key=lambda kernel: -kernel.seconds)[:slowest]:
        typer.echo(f"{kernel.seconds:7.2f} s  {kernel.name.removeprefix('thud.')}")
