"""`thud.warmup()` and the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import thud
import thud.warm
from tests.core.processes import PACKAGE, python
from thud.cli.app import app


def test_warmup_leaves_no_kernel_to_compile() -> None:
    from thud._core.decorators import REGISTRY, resolve_signature

    steps: list[tuple[int, int, str]] = []
    kernels = thud.warmup(progress=lambda done, total, name: steps.append((done, total, name)))
    assert [kernel.name for kernel in kernels] == [name for name in REGISTRY if name.startswith("thud.")]
    assert steps[-1][0] == steps[-1][1] == len(kernels)
    assert all(state.bytes for state in thud.warm.kernel_states())
    for kernel in kernels:
        dispatcher, signature = REGISTRY[kernel.name]
        # One specialisation: the gates fixed dtype and layout, and the signature says the same.
        dispatcher.compile(resolve_signature(signature))
        assert dispatcher.signatures == [resolve_signature(signature)], kernel.name


def test_groups_part_the_kernels() -> None:
    names = [state.name for group in thud.warm.GROUPS for state in thud.warm.kernel_states(group)]
    assert sorted(names) == sorted(state.name for state in thud.warm.kernel_states())
    for group in thud.warm.GROUPS:
        assert len(thud.warm.kernel_states(group)) > 5, group
    with pytest.raises(thud.errors.InvalidInputError, match="groups: expected some of convex, mesh"):
        thud.warmup("meshes")
    with pytest.raises(thud.errors.InvalidInputError, match="processes: expected a whole number"):
        thud.warmup("imagespace", processes=0)


def test_workers_compile_each_kernel_once(tmp_path: Path) -> None:
    # In a process of its own, with an empty store: two workers, inner kernels before those that call them.
    code = (
        "import thud\n"
        "if __name__ == '__main__':\n"
        "    first = thud.warmup('imagespace', processes=2, progress=False)\n"
        "    second = thud.warmup('imagespace', progress=False)\n"
        "    print(sum(k.compiled for k in first), len(first), sum(k.compiled for k in second))"
    )
    done = python(code, THUD_CACHE_DIR=str(tmp_path))
    compiled, total, again = map(int, done.stdout.split())
    assert compiled == total > 5, done.stderr
    assert again == 0


def test_an_interrupted_warmup_ends_with_its_workers(tmp_path: Path) -> None:
    code = (
        "import os, signal, threading, thud\n"
        "def stop(done, total, name):\n"
        "    if done == 2:\n"
        "        os.killpg(os.getpgid(0), signal.SIGINT)\n"
        "try:\n"
        "    thud.warmup('imagespace', processes=2, progress=stop)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')"
    )
    settings = {"THUD_TARGET": "host"} | os.environ | {"PYTHONPATH": str(PACKAGE.parent), "THUD_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # Workers hold the pipes open: both ends come only once they have ended too.
    out, said = process.communicate(timeout=600)
    assert out.strip() == "interrupted", said
    assert "Traceback" not in said
    # What they stored meanwhile is whole.
    done = python("import thud; print(len(thud.warmup('imagespace', progress=False)))", THUD_CACHE_DIR=str(tmp_path))
    assert int(done.stdout) > 5, done.stderr
    assert "damaged" not in done.stderr


def test_command_line_lists_what_is_there() -> None:
    result = CliRunner().invoke(app, ["warmup", "--list", "imagespace"])
    assert result.exit_code == 0, result.output
    assert "imagespace: " in result.output
    assert "kernels are there" in result.output
    assert "convex" not in result.output
    wrong = CliRunner().invoke(app, ["warmup", "meshes"])
    assert wrong.exit_code != 0


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
