"""Source files as a kernel's key sees them: syntax trees without docstrings, comments, annotations and line numbers.

Every function and class of a file has an outline: a hash of its tree, and the global names that it reads. Outlines are made
once for each content of a file and kept beside the kernels, since parsing takes longer than loading.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from thud._core import store

#: Changes whenever outlines mean something else.
_FORMAT = 1


class Outline(NamedTuple):
    """A function or class without what does not matter to a compiler."""

    digest: str
    names: tuple[str, ...]
    """Global and free names that it reads, with their attributes: `np.float64`."""
    size: int
    """Nodes of its tree: about proportional to the time it takes to compile."""


class SourceFile(NamedTuple):
    """One file's outlines."""

    functions: dict[int, Outline]
    """By first line, decorators included, as `co_firstlineno` counts."""
    classes: dict[str, Outline]
    """By qualified name."""


_files: dict[str, SourceFile | None] = {}

#: What each file was like when its first kernel was decorated: (time of change, bytes).
_seen: dict[str, tuple[int, int] | None] = {}


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def watch(path: str) -> None:
    """Remember what a file is like while the functions in memory are still those of the file."""
    if path not in _seen:
        _seen[path] = _stamp(path)


def source_file(path: str) -> SourceFile | None:
    """Outlines of a file; None if it cannot be read, or was changed since its functions were made.

    The code in memory is then not that of the file, and nothing may be stored or loaded in its name.
    """
    if path in _files:
        return _files[path]
    watch(path)
    try:
        content = Path(path).read_bytes()
    except OSError:
        content = None
    unchanged = content is not None and _seen[path] is not None and _seen[path] == _stamp(path)
    _files[path] = _outlines(content) if unchanged and content is not None else None
    return _files[path]


def _outlines(content: bytes) -> SourceFile:
    name = hashlib.sha256(b"%d " % _FORMAT + content).hexdigest()[:32] + ".outline"
    known = store.user_store().load(name)
    if known is not None:
        functions, classes = json.loads(known)
        return SourceFile({int(line): _outline(*row) for line, row in functions.items()}, _rows(classes))
    made = outlines_of(content.decode("utf-8-sig"))
    store.user_store().save(name, json.dumps(made).encode())
    return made


def _rows(rows: dict[str, list[object]]) -> dict[str, Outline]:
    return {name: _outline(*row) for name, row in rows.items()}  # type: ignore[arg-type]


def _outline(digest: str, names: list[str], size: int) -> Outline:
    return Outline(digest, tuple(names), size)


def outlines_of(text: str) -> SourceFile:
    """Outlines of a source text."""
    tree = ast.parse(text)
    read = _global_names(compile(text, "<source>", "exec", dont_inherit=True))
    found = SourceFile({}, {})
    _collect(tree, "", read, found)
    return found


def _collect(parent: ast.AST, prefix: str, read: dict[int, set[str]], found: SourceFile) -> None:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            _collect(node, f"{prefix}{node.name}.<locals>.", read, found)
            found.functions[line] = _outline_of(node, read.get(line, set()))
        elif isinstance(node, ast.ClassDef):
            _collect(node, f"{prefix}{node.name}.", read, found)
            inside = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
            found.classes[prefix + node.name] = _outline_of(node, {name.id for name in inside})
        else:
            _collect(node, prefix, read, found)


def _global_names(code: CodeType) -> dict[int, set[str]]:
    """Names that each code object, or one inside it, reads from outside, by first line."""
    import dis

    found: dict[int, set[str]] = {}

    def visit(code: CodeType) -> set[str]:
        names = set(code.co_freevars)
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(str(instruction.argval))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                # What a nested function finds in this one's cells is not from outside.
                names |= visit(constant) - set(code.co_cellvars)
        found.setdefault(code.co_firstlineno, set()).update(names)
        return names

    visit(code)
    return found


def _outline_of(node: ast.AST, roots: set[str]) -> Outline:
    text: list[str] = []
    chains: set[str] = set()
    _write(node, text, chains)
    names = sorted(chain for chain in chains if chain.split(".", 1)[0] in roots)
    return Outline(hashlib.sha256("".join(text).encode()).hexdigest(), tuple(names), len(text))


#: Fields of the tree that change no machine code; whether a name is read or written shows from where it stands.
_IGNORED = {"decorator_list", "returns", "annotation", "type_comment", "ctx", "kind", "type_params"}


def _write(node: ast.AST, text: list[str], chains: set[str]) -> None:
    """Append the tree as text, without what changes no machine code, and the dotted names in it, each as long as it is."""
    text.append(f"({type(node).__name__}")
    dotted = _dotted(node)
    if dotted is not None:
        text.append(f" {dotted})")
        chains.add(dotted)
        return
    for field in node._fields:
        value = None if field in _IGNORED else getattr(node, field, None)
        if isinstance(value, ast.AST):
            _write(value, text, chains)
        elif isinstance(value, list):
            text.append("[")
            for item in value:
                if not isinstance(item, ast.AST):
                    text.append(f" {item!r}")
                elif not _is_bare_string(item):
                    _write(item, text, chains)
            text.append("]")
        elif isinstance(value, float):
            text.append(f" {value.hex()}")
        elif field not in _IGNORED:
            # A field that is left out counts too: `a[1:]` is not `a[:1]`.
            text.append(f" {value!r}")
    text.append(")")


def _is_bare_string(node: ast.AST) -> bool:
    """A docstring, or a string that stands where a comment could."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return None if inner is None else f"{inner}.{node.attr}"
    return None
