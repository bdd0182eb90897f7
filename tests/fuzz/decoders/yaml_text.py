"""YAML: any text gives a tree that can be written and read again, or a refusal with a line."""

from random import Random
from typing import Any

import orjson
from tests.fuzz.shapes import clean, mutated, tree, word
from tests.fuzz.target import Target

from karmada.api import yaml

_SCALARS = (
    "1",
    "0x1",
    "1_000",
    "yes",
    "~",
    "",
    "'a'",
    '"\\u0041"',
    "!!str 1",
    "!!int x",
    "!!binary aGk=",
    "- 1",
    ".inf",
)


def _node(r: Random, depth: int) -> str:
    """A node in flow style, with anchors, aliases, tags and merges."""
    kind = r.randint(0, 9)
    mark = r.choice(("", "", "", "&a ", "&b ", "!!map ", "! ", "!x "))
    if kind < 2:
        return r.choice(("*a", "*b", "*c"))
    if kind < 5 or depth <= 0:
        return mark + r.choice((*_SCALARS, word(r)))
    if kind < 7:
        return mark + "[" + ", ".join(_node(r, depth - 1) for _ in range(r.randint(0, 4))) + "]"
    keys = ("a", "b", "<<", "? [x]", "*a", "1", "null", word(r))
    members = (f"{r.choice(keys)}: {_node(r, depth - 1)}" for _ in range(r.randint(0, 4)))
    return mark + "{" + ", ".join(members) + "}"


def _block(r: Random) -> str:
    lines = []
    for _ in range(r.randint(0, 8)):
        indent = " " * r.choice((0, 0, 2, 2, 4, 1))
        lead = r.choice(("", "- ", "? ", ": ", "# ", "--- ", "%YAML 1.1", "...", "a: ", "b: ", f"{word(r)}: "))
        body = r.choice((_node(r, 2), "|", ">-", word(r), "", '"x', "\t"))
        lines.append(indent + lead + body)
    return "\n".join(lines)


def _text(r: Random) -> bytes:
    kind = r.randint(0, 3)
    if kind == 0:
        text = yaml.dump(tree(r, 3))
    elif kind == 1:
        text = _block(r)
    elif kind == 2:
        text = _node(r, 4)
    else:
        text = clean(r)
    return mutated(r, text.encode(errors="replace"))


def _run(text: bytes) -> None:
    value = yaml.load(text)
    written = yaml.dump(value)
    assert _canonical(yaml.load(written)) == _canonical(value), "what was written is read as something else"


def _canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _run_all(text: bytes) -> Any:
    return list(yaml.load_all(text))


TARGETS = (Target("yaml", _text, _run, (yaml.YAMLError,)), Target("yaml-stream", _text, _run_all, (yaml.YAMLError,)))
