"""Puts a mutant into the modules of a running process: functions that exist get the changed code.

It can be done where all that changes is inside functions that nobody called yet; constants, defaults, decorators and
classes are evaluated when a module is imported, and others may have kept what came of them.
"""

import gc
import inspect
from collections.abc import Container, Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

from karmada.testing.mutants.edits import Mutant


class Place(NamedTuple):
    """Where a function is defined."""

    file: str
    line: int
    name: str

    @classmethod
    def of(cls, code: CodeType) -> "Place":
        return cls(code.co_filename, code.co_firstlineno, code.co_qualname)


class Functions:
    """The functions of the process, as they were when it was asked."""

    def __init__(self) -> None:
        self._by_file: dict[str, list[FunctionType]] = {}
        for one in gc.get_objects():
            if isinstance(one, FunctionType):
                self._by_file.setdefault(one.__code__.co_filename, []).append(one)

    def of(self, file: str) -> list[FunctionType]:
        """Those of one module."""
        return self._by_file.get(file, [])


class Swap:
    """The functions that a mutant changes."""

    def __init__(self, mutant: Mutant, functions: Functions) -> None:
        file = str(mutant.module.resolve())
        before = list(_codes(compile(mutant.module.read_text(), file, "exec")))
        after = list(_codes(compile(mutant.tree(), file, "exec")))
        changed = [old for old, new in zip(before, after, strict=False) if _content(old) != _content(new)]
        self._functions = functions.of(file)
        # By name and line, not by content: pytest rewrites the assertions of modules that it imports.
        self._renewed = {Place.of(old): new for old, new in zip(before, after, strict=False)}
        self._whole = len(before) == len(after) == len(self._renewed)
        self._inside = all(old.co_flags & inspect.CO_OPTIMIZED for old in changed)
        self.places = set(map(Place.of, changed))

    def is_possible(self, called: Container[Place]) -> bool:
        """Whether it takes effect, given the functions that have been called already."""
        if not self._whole or not self._inside or any(place in called for place in self.places):
            return False
        mine = [function.__code__ for function in self._functions]
        if not self.places <= {Place.of(inner) for code in mine for inner in _codes(code)}:
            return False
        return all(code.co_freevars == self._renewed[Place.of(code)].co_freevars for code in mine if self._knows(code))

    def apply(self) -> None:
        """Change the functions."""
        for function in self._functions:
            if self._knows(function.__code__):
                function.__code__ = self._renewed[Place.of(function.__code__)]

    def _knows(self, code: CodeType) -> bool:
        return Place.of(code) in self._renewed


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _content(code: CodeType) -> tuple[object, ...]:
    """What a code does itself, without the functions in it."""
    own = [repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]
    return code.co_code, own, code.co_names, code.co_freevars, code.co_cellvars
