"""Sets of fields, kept in the form the API writes them: FieldsV1 trees.

A tree maps path elements to subtrees: `f:name` a field, `k:{…}` a list item by its keys, `v:…` a list item by its
value, `i:n` by its position. An element is a member of the set when its subtree is empty or holds `.`; otherwise it
only leads to members. So no decoding or encoding happens between storage and set algebra.

Trees are immutable by convention: operations share subtrees with their operands and return an operand itself
where it is already the answer. The empty set is `{}` at the root.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

Fields = dict[str, Any]
"""A FieldsV1 tree."""

EMPTY: Fields = {}
SELF = "."


def is_member(tree: Fields) -> bool:
    """Whether the element a subtree hangs on is itself in the set."""
    return not tree or SELF in tree


def union(left: Fields, right: Fields) -> Fields:
    """Members of either set."""
    if not right or left is right:
        return left
    if not left:
        return right
    result: Fields | None = None
    for element, theirs in right.items():
        ours = left.get(element)
        both = theirs if ours is None else _union_at(ours, theirs)
        if both is ours:
            continue
        if result is None:
            result = dict(left)
        result[element] = both
    return left if result is None else result


def union_all(sets: Iterable[Fields]) -> Fields:
    """Members of any of the sets, in order; costs what the sets hold, however many they are."""
    return _united([fields for fields in sets if fields])


def _united(trees: list[Fields]) -> Fields:
    if not trees:
        return EMPTY
    if len(trees) == 1:
        return ordered(trees[0])
    below: dict[str, list[Fields]] = {}
    for tree in trees:
        for element, inner in tree.items():
            below.setdefault(element, []).append(inner)
    result: Fields = {}
    for element in sorted(below):
        inner = _united([tree for tree in below[element] if tree])
        if inner and SELF not in inner and not all(below[element]):
            inner = {SELF: EMPTY, **inner}
        result[element] = inner
    return result


def _union_at(ours: Fields, theirs: Fields) -> Fields:
    """Union below an element, where an empty tree means membership of the element."""
    if ours is theirs or (not ours and not theirs):
        return ours
    if not ours:
        return theirs if SELF in theirs else {SELF: EMPTY, **theirs}
    if not theirs:
        return ours if SELF in ours else {SELF: EMPTY, **ours}
    return union(ours, theirs)


def difference(left: Fields, right: Fields) -> Fields:
    """Members of `left` that are not members of `right`; costs what the smaller one holds."""
    result: Fields | None = None
    for element in left if len(left) < len(right) else right:
        ours, theirs = left.get(element), right.get(element)
        if ours is None or theirs is None:
            continue
        rest = _difference_at(ours, theirs) if element != SELF else None
        if rest is ours:
            continue
        if result is None:
            result = dict(left)
        if rest is None:
            del result[element]
        else:
            result[element] = rest
    return left if result is None else result


def _difference_at(ours: Fields, theirs: Fields) -> Fields | None:
    if not ours:
        return None if is_member(theirs) else ours
    if not theirs:
        return {e: t for e, t in ours.items() if e != SELF} or None if SELF in ours else ours
    rest = difference(ours, theirs)
    if rest is ours:
        return ours
    if not rest:
        return None
    return EMPTY if len(rest) == 1 and SELF in rest else rest


def without(fields: Fields, subtrees: Fields) -> Fields:
    """The set without the members of `subtrees` and everything below them."""
    result: Fields | None = None
    for element, cut in subtrees.items():
        ours = fields.get(element)
        if ours is None:
            continue
        rest = None if is_member(cut) else (without(ours, cut) if ours else ours)
        if rest is ours:
            continue
        if result is None:
            result = dict(fields)
        if not rest:
            del result[element]
        else:
            result[element] = EMPTY if len(rest) == 1 and SELF in rest else rest
    return fields if result is None else result


def intersection(left: Fields, right: Fields) -> Fields:
    """Members of both sets; costs what the smaller one holds."""
    result: Fields = {}
    for element in left if len(left) < len(right) else right:
        ours, theirs = left.get(element), right.get(element)
        if ours is None or theirs is None or element == SELF:
            continue
        both = intersection(ours, theirs) if ours and theirs else EMPTY
        if is_member(ours) and is_member(theirs):
            result[element] = {SELF: EMPTY, **both} if both else EMPTY
        elif both:
            result[element] = both
    return result


def paths(fields: Fields, prefix: str = "") -> Iterator[str]:
    """Members as messages spell them, the ones of a level before those below it, each in order."""
    elements = sorted(element for element in fields if element != SELF)
    for element in elements:
        if is_member(fields[element]):
            yield prefix + spell(element)
    for element in elements:
        yield from paths(fields[element], prefix + spell(element))


def spell(element: str) -> str:
    """A path element in messages: `.spec`, `[name="c"]`, `[="v"]`, `[0]`."""
    form, text = element[:2], element[2:]
    if form == "f:":
        return "." + text
    if form == "k:":
        keys = orjson.loads(text)
        return "[" + ",".join(f"{key}={orjson.dumps(keys[key]).decode()}" for key in sorted(keys)) + "]"
    return f"[={text}]" if form == "v:" else f"[{text}]"


def ordered(fields: Fields) -> Fields:
    """The same set with elements in the order the API writes them."""
    return {element: ordered(below) if (below := fields[element]) else below for element in sorted(fields)}


def parse(tree: Any) -> Fields | None:
    """A set as a client sent it, elements in canonical spelling; None when it is none."""
    if not isinstance(tree, dict):
        return None
    result: Fields = {}
    for element, below in tree.items():
        name = SELF if element == SELF else _canonical(element)
        parsed = parse(below)
        if name is None or parsed is None:
            return None
        result[name] = parsed
    return result


def _canonical(element: str) -> str | None:
    form, text = element[:2], element[2:]
    if form == "f:":
        return element
    if form == "i:":
        return element if text.lstrip("-").isdigit() else None
    if form not in ("k:", "v:"):
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if form == "k:" and not isinstance(value, dict):
        return None
    return form + orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
