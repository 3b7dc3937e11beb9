"""The HTML file in a real browser: nothing is fetched, the table sorts and filters, the 3D view shows the clash and turns."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import thud
from tests.report.clash.chromium import Browser
from tests.report.clash.planted import CLEARANCE, planted
from tests.report.clash.test_picture import shares
from tests.report.clash.test_robot import arm
from tests.report.clash.test_writers import HOSTILE, hostile_report
from thud.errors import InvalidInputError
from thud.io.scene.scene import Scene
from thud.report import Baseline, check, clash_pictures, write_page
from thud.report.clash.page.geometry import shares as triangle_shares
from thud.report.clash.text import plain


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of files and screenshots; pytest keeps the last three runs of it."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    report = check(planted().scene, clearance=CLEARANCE)
    report = Baseline().updated(report, assign={report.clashes[2].id: "Ute"}).apply(report)
    write_page(report, folder / "planted.html", clash_pictures(report, width=240, height=180), title="Planted")
    return folder / "planted.html"


def pixels(browser: Browser, file: Path) -> np.ndarray:
    """What the 3D view shows."""
    import base64
    import io

    from matplotlib.image import imread

    browser.painted()
    data = browser.run("document.getElementById('view').toDataURL('image/png')")
    file.write_bytes(base64.b64decode(data.split(",")[1]))
    return np.round(imread(io.BytesIO(file.read_bytes()))[..., :3] * 255).astype(np.uint8)


def column(browser: Browser, number: int) -> list[str]:
    return browser.run(f"[...document.querySelectorAll('#rows tr')].map((row) => row.children[{number}].textContent)")


def outside(browser: Browser) -> list[str]:
    return [url for url in browser.requests if not url.startswith(("file:", "data:", "about:"))]


def test_the_page_opens_offline_and_the_view_turns(browser: Browser, page: Path, folder: Path) -> None:
    # As on another machine: the file alone.
    alone = folder / "alone"
    alone.mkdir()
    shutil.copy(page, alone / "report.html")
    browser.errors.clear()
    browser.open(alone / "report.html")
    assert browser.run("document.title") == "Planted"
    assert "12 clashes in 200 parts" in browser.run("document.getElementById('summary').textContent")
    browser.screenshot(folder / "opened.png")
    first = pixels(browser, folder / "view_first.png")
    blue, orange, red = shares(first)
    assert blue > 0.02
    assert orange > 0.02
    assert red > 0.0003
    box = browser.run(
        "(() => { const b = document.getElementById('view').getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
    )
    middle = box[0] + box[2] / 2, box[1] + box[3] / 2
    browser.drag(middle, (middle[0] + 150, middle[1] + 40))
    turned = pixels(browser, folder / "view_turned.png")
    assert (np.abs(turned.astype(int) - first).max(axis=2) > 20).mean() > 0.02
    assert min(shares(turned)[:2]) > 0.01
    browser.screenshot(folder / "turned.png")
    browser.click("#reset")
    back = pixels(browser, folder / "view_back.png")
    assert (np.abs(back.astype(int) - first).max(axis=2) > 20).mean() < 0.002
    browser.click("#rest")
    assert (pixels(browser, folder / "view_alone.png") != first).any()
    browser.click("#rest")
    browser.click("#all")
    assert shares(pixels(browser, folder / "view_whole.png"))[1] > 0.001
    assert not outside(browser)
    assert browser.requests
    assert not browser.errors


def test_every_clash_can_be_looked_at(browser: Browser, page: Path, folder: Path) -> None:
    browser.open(page)
    browser.run("document.getElementById('grouped').click()")
    before = None
    for k in range(1, 13):
        browser.click(f"#rows tr:nth-child({k})")
        shown = pixels(browser, folder / f"view_clash_{k}.png")
        kind = column(browser, 1)[k - 1]
        blue, orange, red = shares(shown)
        assert red > 0.0002, (k, kind)
        assert blue + orange > 0.02, (k, kind)
        assert before is None or (shown != before).any()
        before = shown
        assert browser.run("document.getElementById('picture').naturalWidth") == 240
        assert browser.run("document.querySelector('#rows tr[aria-selected=true]').dataset.id") == browser.run(
            f"document.querySelector('#rows tr:nth-child({k})').dataset.id"
        )
    browser.screenshot(folder / "last_clash.png")


def test_the_table_sorts_and_filters(browser: Browser, page: Path, folder: Path) -> None:
    browser.open(page)
    browser.run("document.getElementById('grouped').click()")
    assert column(browser, 0) == [str(k) for k in range(1, 13)]
    browser.click("#head th:nth-child(4)")
    names = column(browser, 3)
    assert names == sorted(names)
    browser.click("#head th:nth-child(4)")
    assert column(browser, 3) == sorted(names, reverse=True)
    assert browser.run("document.querySelector('#head th:nth-child(4)').getAttribute('aria-sort')") == "descending"
    browser.click("#head th:nth-child(5)")
    assert column(browser, 4)[0].endswith("deep")
    browser.click("#filter")
    browser.type("overlap.3")
    assert len(column(browser, 0)) == 1
    assert browser.run("document.getElementById('count').textContent") == "1 of 12"
    browser.screenshot(folder / "filtered.png")
    browser.run(
        "(() => { const f = document.getElementById('filter'); f.value = 'ute'; f.dispatchEvent(new Event('input')); })()"
    )
    assert len(column(browser, 0)) == 1
    assert "Ute" in column(browser, 6)[0]
    browser.run("(() => { const f = document.getElementById('filter'); f.value = ''; f.dispatchEvent(new Event('input')); })()")
    browser.click("input[data-kind=hard]")
    assert len(column(browser, 0)) == 6
    assert not any("hard" in kind for kind in column(browser, 1))


def test_hostile_names_are_text_in_the_page(browser: Browser, folder: Path) -> None:
    report = hostile_report()
    write_page(report, folder / "hostile.html", title=HOSTILE[0] + HOSTILE[-3])
    text = (folder / "hostile.html").read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    browser.errors.clear()
    browser.open(folder / "hostile.html")
    browser.run("document.getElementById('grouped').checked && document.getElementById('grouped').click()")
    assert browser.run("document.scripts.length") == 2
    shown = {*column(browser, 2), *column(browser, 3)}
    assert shown == {plain(name) for name in report.scene.names}
    assert not browser.errors
    assert not outside(browser)
    browser.screenshot(folder / "hostile.png")


def test_a_robot_is_shown_where_it_collides(browser: Browser, folder: Path) -> None:
    report = check(arm(), configurations=60)
    write_page(report, folder / "robot.html")
    browser.open(folder / "robot.html")
    assert browser.run("!document.getElementById('links').hidden")
    assert shares(pixels(browser, folder / "view_robot.png"))[2] > 0.0003
    browser.screenshot(folder / "robot.png")


def test_no_clashes_is_a_page_too(browser: Browser, folder: Path) -> None:
    box = thud.Box([1, 1, 1]).to_mesh()
    write_page(check(Scene.from_parts(["a", "b"], [box, box], thud.Pose([[0, 0, 0], [5, 0, 0]]))), folder / "clean.html")
    browser.open(folder / "clean.html")
    assert not column(browser, 0)
    write_page(check(Scene((), ())), folder / "empty.html")
    browser.open(folder / "empty.html")


def data_of(file: Path) -> dict:
    text = file.read_text(encoding="utf-8")
    return json.loads(re.search('id="data">(.*?)</script>', text, re.S)[1])


def test_the_file_stays_below_its_limit(folder: Path) -> None:
    ball = thud.Sphere(1.0).to_mesh(120)
    meshes = [thud.TriangleMesh(np.asarray(ball.vertices) * (1 + 0.001 * k), ball.faces) for k in range(6)]
    report = check(
        Scene.from_parts([f"ball {k}" for k in range(6)], meshes, thud.Pose([[1.9 * k, 0, 0] for k in range(6)])),
        volumes=False,
        search="quick",
    )
    assert len(report) == 5
    small = write_page(report, folder / "small.html", most_bytes=10**6)
    assert small == (folder / "small.html").stat().st_size <= 10**6
    data = data_of(folder / "small.html")
    assert data["coarser"] == 6
    assert len(data["meshes"]) == 6
    assert write_page(report, folder / "large.html") <= 25 * 10**6
    # A thousand pictures do not fit: those of the gravest are kept.
    pictures = {clash.id: bytes(250_000) for clash in report}
    write_page(report, folder / "some.html", pictures, most_bytes=10**6)
    assert [bool(clash["picture"]) for clash in data_of(folder / "some.html")["clashes"]] == [True, False, False, False, False]
    many = replace(report, clashes=tuple(replace(report.clashes[0], id=f"{k:013x}", note="x" * 500) for k in range(4000)))
    assert write_page(many, folder / "many.html", most_bytes=10**6) <= 10**6
    assert data_of(folder / "many.html")["rows_left_out"] > 0
    with pytest.raises(InvalidInputError, match="most_bytes"):
        write_page(report, folder / "none.html", most_bytes=10)


def test_triangles_are_shared_out() -> None:
    counts, weights = np.array([10, 1000, 1000]), np.array([1.0, 1.0, 3.0])
    np.testing.assert_array_equal(triangle_shares(counts, weights, 5000), counts)
    given = triangle_shares(counts, weights, 810)
    assert given[0] == 10
    assert given.sum() <= 810
    assert given[2] == 3 * given[1]
