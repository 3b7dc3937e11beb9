"""XML that need not be trusted: no document type, no entities, no depth beyond the limit."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from thud.errors import SceneFileError, SceneLimitError
from thud.io.scene.limits import SceneLimits


def guarded_parser(limits: SceneLimits, what: str, start: Any = None, end: Any = None, text: Any = None) -> Any:
    """An expat parser that refuses document types (where entities are declared) and counts levels.

    start(name, attributes), end(name), text(characters) are called with local names, without their namespaces.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def doctype(*_: Any) -> None:
        raise SceneFileError(f"{what}: it declares a document type (DTD), which may hold entity bombs and is not read")

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > limits.depth:
            raise SceneLimitError(f"{what}, line {parser.CurrentLineNumber}: deeper than limits.depth = {limits.depth}")
        if start is not None:
            start(name.rpartition(" ")[2], attributes)

    def finish(name: str) -> None:
        nonlocal depth
        depth -= 1
        if end is not None:
            end(name.rpartition(" ")[2])

    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = doctype
    parser.StartElementHandler = begin
    parser.EndElementHandler = finish
    if text is not None:
        parser.CharacterDataHandler = text
    return parser


def parse(parser: Any, stream: Any, what: str) -> None:
    """Feed a stream to it; a syntax error is a named one with its line."""
    try:
        while block := stream.read(2**20):
            parser.Parse(block, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise SceneFileError(f"{what}, line {error.lineno}, column {error.offset}: {expat.ErrorString(error.code)}") from None


def check_xml(path: str, limits: SceneLimits, what: str) -> None:
    """Look through a file before another parser gets it."""
    with open(path, "rb") as file:
        parse(guarded_parser(limits, what), file, what)
