"""Source files as a kernel's key sees them: syntax trees without docstrings, comments, annotations and line numbers.

Every function and class of a file has an outline: a hash of its tree, the global names that it reads, and a hash of the code
object that Python makes of it. A function in memory whose code is not that has no outline: its file was edited after it was
imported, or Python ran an older compiled file, or it is a lambda on the line of another function. Outlines are made once for
each content of a file and kept beside the kernels, since parsing takes longer than loading.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import sys
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

from thud._core import store

#: Changes whenever outlines mean something else; what Python makes of a file depends on its version and on `python -O`.
_FORMAT = f"2 {sys.version_info[:3]} {sys.flags.optimize}"

#: The outline of a file as a whole, among its classes.
WHOLE = "<file>"


class Outline(NamedTuple):
    """A function or class without what does not matter to a compiler."""

    digest: str
    names: tuple[str, ...]
    """Global and free names that it reads, with their attributes: `np.float64`."""
    size: int
    """Nodes of its tree: about proportional to the time it takes to compile."""
    code: str
    """Hash of its code object; empty for a class."""
    imports: tuple[str, ...]
    """Packages that it imports when it runs."""


class SourceFile(NamedTuple):
    """One file's outlines."""

    functions: dict[int, Outline]
    """By first line, decorators included, as `co_firstlineno` counts."""
    classes: dict[str, Outline]
    """By qualified name; of two by the same name neither."""


@functools.cache
def source_file(path: str) -> SourceFile | None:
    """Outlines of a file, read once a process; None if it cannot be read."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    name = hashlib.sha256(_FORMAT.encode() + content).hexdigest()[:32] + ".outline"
    known = store.user_store().load(name)
    if known is not None:
        try:
            functions, classes = json.loads(known)
            return SourceFile({int(line): _outline(*row) for line, row in functions.items()}, _rows(classes))
        except (ValueError, TypeError, AttributeError):
            store.user_store().discard(name)
    try:
        made = outlines_of(content)
    except (SyntaxError, ValueError):
        return None
    store.user_store().save(name, json.dumps(made).encode())
    return made


def function_outline(function: FunctionType) -> Outline | None:
    """Outline of a function; None if its code is not what its file says."""
    file = source_file(function.__code__.co_filename)
    outline = None if file is None else file.functions.get(function.__code__.co_firstlineno)
    return None if outline is None or outline.code != code_digest(function.__code__) else outline


def class_outline(path: str, name: str) -> Outline | None:
    """Outline of a class, or of the whole file; None if there is none, or more than one."""
    file = source_file(path)
    outline = None if file is None else file.classes.get(name)
    return None if outline is None or not outline.digest else outline


def _rows(rows: dict[str, list[object]]) -> dict[str, Outline]:
    return {name: _outline(*row) for name, row in rows.items()}  # type: ignore[arg-type]


def _outline(digest: str, names: list[str], size: int, code: str, imports: list[str]) -> Outline:
    return Outline(digest, tuple(names), size, code, tuple(imports))


def code_digest(code: CodeType) -> str:
    """Hash of a code object: what it does, not where it stands."""
    digest = hashlib.sha256()

    def visit(code: CodeType) -> None:
        shape = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
        digest.update(repr((shape, code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount)).encode())
        digest.update(code.co_code)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                visit(constant)
            else:
                # Sets have no order of their own.
                text = repr(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)
                digest.update(f"{type(constant).__name__} {text}".encode())

    visit(code)
    return digest.hexdigest()


def outlines_of(text: str | bytes) -> SourceFile:
    """Outlines of a source text."""
    tree = ast.parse(text)
    codes: dict[tuple[int, str], CodeType] = {}
    read = _global_names(compile(text, "<source>", "exec", dont_inherit=True), codes)
    found = SourceFile({}, {WHOLE: _outline_of(tree, set())})
    _collect(tree, "", read, codes, found)
    return found


def _collect(
    parent: ast.AST, prefix: str, read: dict[int, set[str]], codes: dict[tuple[int, str], CodeType], found: SourceFile
) -> None:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            _collect(node, f"{prefix}{node.name}.<locals>.", read, codes, found)
            code = codes.get((line, node.name))
            found.functions[line] = _outline_of(node, read.get(line, set()), code)
        elif isinstance(node, ast.ClassDef):
            _collect(node, f"{prefix}{node.name}.", read, codes, found)
            inside = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
            name = prefix + node.name
            outline = _outline_of(node, {name.id for name in inside})
            # Which of two by one name a program has cannot be told from here.
            found.classes[name] = outline._replace(digest="") if name in found.classes else outline
        else:
            _collect(node, prefix, read, codes, found)


def _global_names(code: CodeType, codes: dict[tuple[int, str], CodeType]) -> dict[int, set[str]]:
    """Names that each code object, or one inside it, reads from outside, by first line; and all code objects."""
    import dis

    found: dict[int, set[str]] = {}

    def visit(code: CodeType) -> set[str]:
        codes[code.co_firstlineno, code.co_name] = code
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


def _outline_of(node: ast.AST, roots: set[str], code: CodeType | None = None) -> Outline:
    text: list[str] = []
    chains: set[str] = set()
    _write(node, text, chains)
    names = sorted(chain for chain in chains if chain.split(".", 1)[0] in roots)
    digest = hashlib.sha256("".join(text).encode()).hexdigest()
    return Outline(digest, tuple(names), len(text), "" if code is None else code_digest(code), _imports(node))


def _imports(node: ast.AST) -> tuple[str, ...]:
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            found.update(name.name for name in part.names)
        elif isinstance(part, ast.ImportFrom):
            found.add("." if part.level else str(part.module))
    return tuple(sorted(found))


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
    # A class is what its decorators make of it; of a function's decorators, keys know the options.
    ignored = _IGNORED - {"decorator_list"} if isinstance(node, ast.ClassDef) else _IGNORED
    for field in node._fields:
        value = None if field in ignored else getattr(node, field, None)
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
        elif field not in ignored:
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
