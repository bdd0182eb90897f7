"""Descriptions of fields, read from the source: the text that stands under a field describes it.

Only generating CRDs needs them, so they cost nothing at run time.
"""

import ast
import inspect
import sys
from functools import cache

from karmada.api.base import Struct


@cache
def field_docs(type_: type[Struct]) -> dict[str, str]:
    """Descriptions by attribute name, those of base types included."""
    docs: dict[str, str] = {}
    for base in reversed(type_.__mro__):
        if issubclass(base, Struct):
            docs |= _module_docs(base.__module__).get(base.__name__, {})
    return docs


def type_doc(type_: type[Struct]) -> str:
    """Description of a type."""
    return one_line(type_.__doc__ or "")


def one_line(text: str) -> str:
    """Text as one line: line breaks in the source mean nothing."""
    return " ".join(text.split())


@cache
def _module_docs(module: str) -> dict[str, dict[str, str]]:
    source = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: _class_docs(node) for node in source.body if isinstance(node, ast.ClassDef)}


def _class_docs(node: ast.ClassDef) -> dict[str, str]:
    docs = {}
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            docs[statement.target.id] = one_line(following.value.value)
    return docs
