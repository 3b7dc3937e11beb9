"""The landscape, a small piece of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lmdb")

from reproductions.__main__ import main


def test_statements_hold(tmp_path: Path) -> None:
    # In a process of its own: its memory is one of the statements.
    command = [sys.executable, "-m", "reproductions", "yang-world", "--size", "ci", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DOES NOT HOLD" not in done.stdout
    assert (tmp_path / "yang_world_relief.png").read_bytes().startswith(b"\x89PNG")
    # Once more: nothing is built again.
    again = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2], check=False)
    assert again.returncode == 0, again.stdout + again.stderr


def test_no_model_is_taken(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--model"):
        main(["yang-world", "--model", "x.obj", "--out", str(tmp_path)])
