"""A report as tables in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thud.report.clash.clash import Clash, ClashReport, length, volume
from thud.report.clash.groups import Group
from thud.report.clash.text import plain, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STYLE = {"hard": "bold red", "containment": "bold magenta", "duplicate": "bold yellow", "clearance": "cyan", "contact": "dim"}


def print_report(report: ClashReport, console: Console, *, group: str = "auto", rows: int = 50, explain: bool = False) -> None:
    """The summary, a line a group of clashes, pairs of links, and what was assumed.

    rows : most lines of each table
    explain : also a sentence a clash
    """
    from rich.text import Text

    groups = report.groups(group)
    if groups:
        console.print(_clashes(groups[:rows], report))
        if len(groups) > rows:
            console.print(Text(f"… and {len(groups) - rows} more lines", style="dim"))
    if explain:
        for clash in report.clashes[:rows]:
            console.print(Text.assemble((f"{clash.id[:7]} ", "dim"), plain(clash.explain())))
    if report.links:
        console.print(_links(report, rows))
    for note in report.notes:
        console.print(Text(f"note: {plain(note)}", style="dim"))
    kinds: dict[str, int] = {}
    for told in report.scene.notes:
        kinds[told.severity] = kinds.get(told.severity, 0) + 1
    for told in report.scene.notes[:rows]:
        where = f"{plain(told.part)}: " if told.part else ""
        console.print(Text(f"{plain(told.severity)}: {where}{plain(told.text)}", style="dim"))
    if len(report.scene.notes) > rows:
        counts = ", ".join(f"{count} {plain(kind)}" for kind, count in kinds.items())
        console.print(Text(f"… of {len(report.scene.notes)} notes in all ({counts})", style="dim"))
    for key, names in list(report.gone.items())[:rows]:
        console.print(Text(f"gone: {key[:7]} {plain(names[0])} and {plain(names[1])}", style="green"))
    console.print(Text(plain(report.summary()), style="bold red" if report.clashes else "bold green"))


def _clashes(groups: list[Group], report: ClashReport) -> Table:
    from rich.table import Table
    from rich.text import Text

    above = report.above
    where = f"in {plain(above)[:-1]}: " if above else ""
    title = f"{where}tolerance {length(report.tolerance)}, clearance {length(report.clearance)}"
    table = Table(title=Text(title), title_style="dim")
    for name in ("id", "kind", "parts"):
        table.add_column(name, overflow="fold")
    for name in ("depth or gap", "volume"):
        table.add_column(name, justify="right")
    table.add_column("status")
    for group in groups:
        first = group.clashes[0]
        count = f" ×{len(group)}" if len(group) > 1 else ""
        names = (plain(name.removeprefix(above)) for name in (first.name_a, first.name_b))
        parts = (
            plain(group.title).replace(plain(above), "") if len(group) > 1 else "\n".join(shortened(name, 60) for name in names)
        )
        # Text, not markup: brackets in names are brackets.
        table.add_row(
            Text(first.id[:7], style="dim"),
            Text(f"{group.kind}{count}", style=_STYLE[group.kind]),
            Text(parts),
            Text(first.measure),
            Text(volume(first.volume) if first.volume == first.volume else "–"),
            Text(plain(_status(first))),
        )
    return table


def _links(report: ClashReport, rows: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    never = sum(pair.verdict == "never" for pair in report.links)
    table = Table(title=f"links that collide; {never} pairs never do", title_style="dim")
    for name in ("links", "collide", "at rest", "seen at"):
        table.add_column(name, overflow="fold")
    for pair in [pair for pair in report.links if pair.verdict != "never"][:rows]:
        values = ", ".join(f"{value:.3g}" for value in pair.configuration)
        style = "bold red" if pair.verdict == "always" else "yellow"
        table.add_row(
            Text(f"{plain(pair.link_a)}\n{plain(pair.link_b)}"),
            Text(f"{pair.verdict}, {pair.share_text}", style=style),
            Text("yes" if pair.at_rest else "no"),
            Text(values),
        )
    return table


def _status(clash: Clash) -> str:
    said = f"{clash.status}, worse" if clash.worse else clash.status
    return f"{said}, {clash.assignee}" if clash.assignee else said
