"""The code of the pages runs as it stands, page by page, in an empty folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import thud
from benchmarks.__main__ import names

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"])

#: Pages that are lists, or of what is told elsewhere.
WITHOUT = {"benchmarks.md", "conventions.md", "fuzz.md", "kernels.md", "what_meets_what.md", "index.md"}


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)
    assert os.getcwd() == str(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_begins_with_what_it_is_for_and_a_call(page: Path) -> None:
    if page.name in WITHOUT:
        return
    text = page.read_text(encoding="utf-8")
    assert blocks(page), "no code"
    before = text[: text.index("```python")]
    first = [line for line in before.splitlines()[1:] if line.strip()]
    assert first, "code before any sentence"
    assert not first[0].startswith(("`bvh/", "`mesh/", "`convex/", "In `")), "begins with its files"


def test_every_page_is_in_the_index() -> None:
    listed = re.findall(r"\]\(([a-z_]+\.md)\)", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(page.name for page in ROOT.glob("docs/*.md") if page.name != "index.md")


def test_every_benchmark_is_on_its_page() -> None:
    listed = re.findall(
        r"^python -m benchmarks ([a-z_]+) ", (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(listed) == ["all", *names()]


def test_every_technique_of_the_slides_has_a_function_and_a_test() -> None:
    """The names on the page lead somewhere, and none is left out of the example."""
    page = (ROOT / "docs" / "slides.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) > 28
    example = (ROOT / "examples" / "13_slides.py").read_text(encoding="utf-8")
    for slide, function, tests, *_deviation in rows:
        names = re.findall(r"`(thud[.a-z_A-Z]+)", function)
        assert names, slide
        for name in names:
            found: object = thud
            for part in name.split(".")[1:]:
                found = getattr(found, part)
        assert any(re.search(rf"\b{name.rsplit('.', 1)[1]}\b", example) for name in names), f"{slide}: not in the example"
        paths = re.findall(r"`([a-z_/]+\.py)`", tests)
        assert paths, slide
        for path in paths:
            assert (ROOT / "tests" / path).is_file(), path
