"""The mutants of a module: edits of its syntax tree, each applied alone to a tree of its own."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

STRUCTURAL = frozenset({"frozen", "slots", "kw_only", "repr", "gc", "weakref"})
"""Flags of a class that change no result: who writes to a frozen object, or passes its fields in order, is refused by
the type checker, which `make types` runs; the others are about memory and about what a debugger shows."""
_OF_CALLS = {"zip": "strict", "lru_cache": "maxsize"}
"""Arguments that change no result either: that both are of one length, and how much is remembered."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


class Mutant(NamedTuple):
    """One change to one module."""

    module: Path
    change: str
    """Where and what: unique within the module, and the same when other parts of it are edited."""
    number: int
    """Which of the module's edits it is."""
    structural: bool = False
    """Whether it is equivalent by rule: see `STRUCTURAL`."""
    lines: range = range(0)
    """Those that what is changed is written on."""

    def __str__(self) -> str:
        return f"{self.module}: {self.change}"

    def tree(self) -> ast.Module:
        """The changed module."""
        tree = ast.parse(self.module.read_text())
        _edits(tree)[self.number].apply()
        return ast.fix_missing_locations(tree)

    def source(self) -> str:
        """The changed module as text."""
        return ast.unparse(self.tree())


def mutants_of(module: Path) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    names: Counter[str] = Counter()
    found = []
    for number, edit in enumerate(_edits(ast.parse(module.read_text()))):
        change = edit.description()
        names[change] += 1
        if names[change] > 1:
            change += f" ({names[change]})"
        found.append(Mutant(module, change, number, edit.structural, edit.lines))
    return found


@dataclass(frozen=True, slots=True)
class _Edit:
    """Replaces one attribute of a node, or one item of a list in it."""

    place: tuple[int, int]
    owner: str
    """The class or function that it is in."""
    shown: ast.AST
    """What is shown before and after."""
    holder: Any
    key: str | int
    value: object
    structural: bool = False
    lines: range = range(0)

    def apply(self) -> object:
        """Replace it; the result is what was there."""
        if isinstance(self.key, int):
            before, self.holder[self.key] = self.holder[self.key], self.value
            return before
        before = getattr(self.holder, self.key)
        setattr(self.holder, self.key, self.value)
        return before

    def description(self) -> str:
        """Where and what, with the tree as it was afterwards."""
        before = ast.unparse(self.shown)
        if isinstance(self.value, ast.Pass):
            return f"{self.owner}: `{before.partition(chr(10))[0]}` left out"
        original = self.apply()
        after = ast.unparse(self.shown)
        replace(self, value=original).apply()
        return f"{self.owner}: `{before}` becomes `{after}`"


def _edits(tree: ast.Module) -> list[_Edit]:
    return sorted(_inside(tree, "module"), key=lambda edit: edit.place)


def _inside(node: ast.AST, owner: str) -> Iterator[_Edit]:
    """The edits of a node and of what is in it, annotations excepted."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        owner = node.name if owner == "module" else f"{owner}.{node.name}"
    yield from _of(node, owner)
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        flags = isinstance(node, ast.ClassDef) and name in ("keywords", "decorator_list")
        for index, part in enumerate(field if isinstance(field, list) else [field]):
            if not isinstance(part, ast.AST):
                continue
            if isinstance(field, list) and _may_be_left_out(part):
                yield _Edit(_place(part), owner, part, field, index, ast.Pass(), lines=_lines(part))
            if flags:
                yield from _of_flags(part, owner)
            else:
                harmless = isinstance(part, ast.keyword) and part.arg == _OF_CALLS.get(_called(node), "")
                yield from (replace(edit, structural=True) if harmless else edit for edit in _inside(part, owner))


def _of_flags(node: ast.AST, owner: str) -> Iterator[_Edit]:
    """The edits of a class's flags, as keywords of its own or of a decorator."""
    for keyword in [node] if isinstance(node, ast.keyword) else getattr(node, "keywords", ()):
        for edit in _inside(keyword.value, owner):
            yield replace(edit, structural=keyword.arg in STRUCTURAL)


def _of(node: ast.AST, owner: str) -> Iterator[_Edit]:
    """The edits of a node itself."""

    def edit(holder: Any, key: str | int, value: object) -> _Edit:
        return _Edit(_place(node), owner, node, holder, key, value, lines=_lines(node))

    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                yield edit(node.ops, index, _COMPARISONS[type(operator)]())
        case ast.BoolOp():
            yield edit(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield edit(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
        case ast.Constant(value=bool(value)):
            yield edit(node, "value", not value)
        case ast.Constant(value=int(value)):
            yield edit(node, "value", value + 1)
        case ast.Return(value=value) if value is not None and not _is_no(value):
            yield edit(node, "value", ast.Constant(None))


def _may_be_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.AugAssign | ast.Raise):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)


def _place(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _lines(node: Any) -> range:
    return range(node.lineno, node.end_lineno + 1)


def _called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _is_no(node: ast.expr) -> bool:
    """Whether it means the same as None to whoever asks for a truth: that it is not the opposite is another mutant."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)
