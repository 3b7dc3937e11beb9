"""`thud warmup`."""

from __future__ import annotations

import time
from typing import Annotated

import typer


def warmup(
    groups: Annotated[
        list[str] | None, typer.Argument(help="Some of convex, mesh, world, terrain, particles, imagespace; none means all.")
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="Compile nothing: show which kernels are there.")] = False,
    processes: Annotated[int | None, typer.Option(help="How many compile at the same time; default one a core.", min=1)] = None,
    slowest: Annotated[int, typer.Option(help="How many of the slowest kernels to list.")] = 10,
) -> None:
    """Compile all kernels once, so that no later program waits for them."""
    from thud.errors import InvalidInputError

    try:
        if list_only:
            _list(groups or [])
        else:
            _warm(groups or [], processes, slowest)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error


def _list(groups: list[str]) -> None:
    from thud._core import shipped, store
    from thud.warm import GROUPS, kernel_states

    states = kernel_states(*groups)
    for group in GROUPS:
        members = [state for state in states if state.group == group]
        ready = [state for state in members if state.bytes is not None]
        if not members:
            continue
        typer.echo(f"{group}: {len(ready)} of {len(members)} kernels are there")
        for state in members:
            size = "     absent" if state.bytes is None else f"{state.bytes / 1e3:8.1f} kB"
            typer.echo(f"  {size}  {state.name.removeprefix('thud.')}")
    found = shipped.kernels()
    if found is not None:
        typer.echo(f"level {found.level}, as it came with the package")
    typer.echo(f"{store.user_store().folder}: {store.user_store().size() / 1e6:.1f} MB of {store.size_limit() / 1e6:.1f} MB")


def _warm(groups: list[str], processes: int | None, slowest: int) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from thud.warm import check_groups, kernel_states
    from thud.warm import warmup as warm

    check_groups(groups)
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

        kernels = warm(*groups, progress=show, processes=processes)
    seconds = time.perf_counter() - begin
    compiled = [kernel for kernel in kernels if kernel.compiled]
    typer.echo(
        f"{len(kernels)} kernels ready in {seconds:.1f} s: {len(compiled)} compiled, {len(kernels) - len(compiled)} cached"
    )
    for kernel in sorted(compiled, key=lambda kernel: -kernel.seconds)[:slowest]:
        typer.echo(f"{kernel.seconds:7.2f} s  {kernel.name.removeprefix('thud.')}")
    lost = sum(state.bytes is None for state in kernel_states(*groups))
    if lost:
        typer.echo(f"{lost} of them could not be kept: see the folder and the limit in `thud warmup --list`", err=True)
        raise typer.Exit(1)
