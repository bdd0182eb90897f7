"""Regular expressions of schemas and CEL: RE2, whose time is linear in the text.

Expressions come from whoever may write a CRD, texts from whoever may write an object. Python's own engine backtracks:
`^[!-~]+([\\t ]?[!-~]+)*$`, from a widely used CRD, would let forty characters stop the server.
"""

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from karmada.api.caching import weighed_cache

_SHORT = 128
_ROOM = 64 << 20
_STATES = 1000
"""Bytes that an instruction may come to cost: the states that texts lead to are kept with the program."""


class BadExpression(ValueError):
    """An expression that cannot be used; the text says why, as Go programs print it."""


def _weight(program: Any, pattern: str) -> int:
    return len(pattern) + _STATES * int(program.programsize)


@weighed_cache(_ROOM, _weight)
def compiled(pattern: str) -> Any:
    """The compiled expression, with the methods of a Python pattern."""
    re2: Any = import_module("re2")
    options = re2.Options()
    options.log_errors = False
    try:
        program = re2.compile(pattern, options)
        re2.purge()  # It keeps the last programs itself, whatever their size.
        return program
    except re2.error as error:
        cause = error.args[0] if error.args else b""
        text = cause.decode(errors="replace") if isinstance(cause, bytes) else str(cause)
        raise BadExpression(f"error parsing regexp: {_in_go_words(text, pattern)}") from None


@lru_cache(maxsize=8192)
def _search_short(pattern: str, text: str) -> bool:
    return compiled(pattern).search(text) is not None


def searcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text matches somewhere. Short texts repeat (names, reasons, types) and are remembered."""
    search = compiled(pattern).search

    def run(text: str) -> bool:
        return _search_short(pattern, text) if len(text) < _SHORT else search(text) is not None

    return run


_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
}


def _in_go_words(text: str, pattern: str) -> str:
    reason, _, part = text.partition(": ")
    words = _GO_WORDS.get(reason, reason)
    if words in ("missing closing )", "unexpected )"):
        part = pattern
    return f"{words}: `{part}`"
