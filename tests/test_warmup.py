"""`thud.warmup()` and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import thud
from thud.cli.app import app


def test_warmup_compiles_every_registered_kernel_once() -> None:
    from thud._jit import REGISTRY, resolve_signature

    steps: list[tuple[int, int, str]] = []
    kernels = thud.warmup(progress=lambda done, total, name: steps.append((done, total, name)))
    assert [kernel.name for kernel in kernels if not kernel.name.startswith("tests.")] == [
        name for name in REGISTRY if not name.startswith("tests.")
    ]
    assert steps[-1][0] == steps[-1][1] == len(kernels)
    for name, (dispatcher, signature) in REGISTRY.items():
        # One specialisation: the gates fixed dtype and layout, and the signature says the same.
        assert dispatcher.signatures == [resolve_signature(signature)], name


def test_command_line_version_and_help() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["version"]).output.strip() == thud.__version__
    assert "warmup" in runner.invoke(app, ["--help"]).output


def test_demo_draws_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--pairs", "100", "--picture", str(picture)])
    assert result.exit_code == 0, result.output
    assert "crate - ball" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_missing_extra_names_itself() -> None:
    error = thud.errors.MissingExtraError.for_package("typer", "app")
    assert isinstance(error, ImportError)
    assert 'pip install "thud[app]"' in str(error)
    with pytest.raises(thud.ThudError):
        raise error
