"""Sources and uniforms of programs on OpenGL."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def shader_source(file: Path, names: Mapping[str, int | float | str]) -> str:
    """A shader with the constants it shares with Python: floats become doubles, text stands as it is."""

    def literal(value: float | str) -> str:
        return value if isinstance(value, str) else f"{value!r}LF" if isinstance(value, float) else f"{value!r}"

    defines = (f"#define {name} {literal(value)}" for name, value in names.items())
    return "\n".join(["#version 430 core", *defines, "#line 1", file.read_text()])


def set_uniforms(program: Any, **values: Any) -> None:
    """Set uniforms; those that a program does not have, or that its compiler has dropped, are left out."""
    for name, value in values.items():
        if name in program:
            program[name].value = value
