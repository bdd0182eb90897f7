"""Makes the input of a difference small: whatever can go without making the difference go is taken away.

Candidates of one pass are judged together, because asking a program is dear and asking it many things is not.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Tree = Any
Path = tuple[str | int, ...]
Judge = Callable[[Sequence[Tree]], list[bool]]
"""Which of these inputs still differ."""

PASSES = 60
WIDEST = 400
"""Candidates of one pass; the largest parts are tried first."""


def minimise(given: Tree, differs: Judge) -> Tree:
    """An input that still differs and in which every part is needed, as far as `PASSES` allow."""
    smallest = given
    for _ in range(PASSES):
        candidates = [without(smallest, path) for path in _parts(smallest)[:WIDEST]]
        verdicts = differs(candidates) if candidates else []
        found = next((one for one, verdict in zip(candidates, verdicts, strict=True) if verdict), None)
        if found is None:
            return smallest
        smallest = found
    return smallest


def without(tree: Tree, path: Path) -> Tree:
    """A copy without the part at a path."""
    copied = copy.deepcopy(tree)
    holder = copied
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    return copied


def _parts(tree: Tree) -> list[Path]:
    """Paths of all parts, the largest first."""
    return [path for _, path in sorted(_sized(tree, ()), key=lambda entry: (-entry[0], len(entry[1])))]


def _sized(tree: Tree, path: Path) -> Iterator[tuple[int, Path]]:
    children: list[tuple[str | int, Tree]]
    if isinstance(tree, dict):
        children = list(tree.items())
    elif isinstance(tree, list):
        children = list(enumerate(tree))
    else:
        return
    for key, child in children:
        inner = list(_sized(child, (*path, key)))
        yield 1 + len(inner), (*path, key)
        yield from inner
