"""[EUVE]'s flight, at a small size."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("lmdb")

from reproductions.__main__ import main


def test_statements_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["euve", "--size", "ci", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "DOES NOT HOLD" not in printed
    assert "with collision" in printed
    for name in ("figure_2", "figure_4", "figure_5", "figure_6"):
        assert (tmp_path / f"euve_{name}.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit, match="--model"):
        main(["euve", "--model", "x.obj", "--out", str(tmp_path)])
