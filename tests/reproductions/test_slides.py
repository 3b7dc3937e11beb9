"""The slides' character and physics, at a small size."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproductions.__main__ import main


def test_statements_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slides", "--size", "ci", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "DOES NOT HOLD" not in printed
    for name in ("characters", "free_fall", "torque_free", "bodies"):
        assert (tmp_path / f"slides_{name}.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit, match="--model"):
        main(["slides", "--model", "x.obj", "--out", str(tmp_path)])
