"""A tree of objects as text."""

from collections.abc import Iterator

from karmada.cli.output.controls import shown
from karmada.cli.output.tabs import width
from karmada.explain.tree import Node

_COLOURS = {"ok": 32, "bad": 31, "wait": 33}


def as_text(root: Node, colours: bool = False) -> str:
    """One line for each object, with health and age."""
    lines = list(_lines(root))
    wide = max(width(text) for text, _ in lines)
    found = []
    for text, node in lines:
        health = f"{shown(node.health):<24}"
        if colours and node.mood:
            health = f"\033[{_COLOURS[node.mood]}m{health}\033[0m"
        found.append(f"{text}{' ' * (wide - width(text))}   {health} {node.age}".rstrip() + "\n")
    return "".join(found)


def _lines(node: Node, prefix: str = "", branch: str = "", below: str = "") -> Iterator[tuple[str, Node]]:
    yield shown(f"{prefix}{branch}{node.kind} {node.name}"), node
    for index, child in enumerate(node.children):
        last = index == len(node.children) - 1
        yield from _lines(child, prefix + below, "└─ " if last else "├─ ", "   " if last else "│  ")
