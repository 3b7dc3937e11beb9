"""Clash reports and pictures: on top of `io`, below the command line."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thud.report.clash.baseline import Baseline as Baseline
    from thud.report.clash.bcf import write_bcf as write_bcf
    from thud.report.clash.check import check as check
    from thud.report.clash.clash import Clash as Clash
    from thud.report.clash.clash import ClashReport as ClashReport
    from thud.report.clash.csv_file import write_csv as write_csv
    from thud.report.clash.groups import Group as Group
    from thud.report.clash.json_file import write_json as write_json
    from thud.report.clash.page.page import write_page as write_page
    from thud.report.clash.picture import picture as picture
    from thud.report.clash.pictures import clash_pictures as clash_pictures
    from thud.report.clash.robot import LinkPair as LinkPair
    from thud.report.clash.rules import Rules as Rules

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "Baseline": "thud.report.clash.baseline",
    "Clash": "thud.report.clash.clash",
    "ClashReport": "thud.report.clash.clash",
    "Group": "thud.report.clash.groups",
    "LinkPair": "thud.report.clash.robot",
    "Rules": "thud.report.clash.rules",
    "check": "thud.report.clash.check",
    "clash_pictures": "thud.report.clash.pictures",
    "picture": "thud.report.clash.picture",
    "write_bcf": "thud.report.clash.bcf",
    "write_csv": "thud.report.clash.csv_file",
    "write_json": "thud.report.clash.json_file",
    "write_page": "thud.report.clash.page.page",
}

__all__ = [
    "Baseline",
    "Clash",
    "ClashReport",
    "Group",
    "LinkPair",
    "Rules",
    "check",
    "clash_pictures",
    "picture",
    "write_bcf",
    "write_csv",
    "write_json",
    "write_page",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'thud.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
