"""The landscape, a small piece of it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("lmdb")

from reproductions.__main__ import main


def test_statements_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["yang-world", "--size", "ci", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "DOES NOT HOLD" not in printed
    assert (tmp_path / "yang_world_relief.png").read_bytes().startswith(b"\x89PNG")
    # Once more: nothing is built again.
    assert main(["yang-world", "--size", "ci", "--out", str(tmp_path)]) == 0
    with pytest.raises(SystemExit, match="--model"):
        main(["yang-world", "--model", "x.obj", "--out", str(tmp_path)])
