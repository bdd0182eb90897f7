"""Strategic merge patches: merge patches that know which lists are keyed, and the directives that steer them.

`apply` is the server's half. Null removes a field, objects merge, lists are replaced unless the schema says `merge`:
then elements merge by their merge key (scalars by value) and the patch's order wins over the live order. Directives:

- `$patch: replace | delete` in an object, or `delete` in a list element (by merge key), `replace` in a list
- `$retainKeys: [...]` removes every other field of the object
- `$setElementOrder/<list>: [...]` orders the list
- `$deleteFromPrimitiveList/<list>: [...]` removes scalars

Nothing here changes its arguments; results share unchanged parts with them. `strategic_diff` makes such patches.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from karmada.api.go_text import format_value, type_name

JSONObject = dict[str, Any]

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
SET_ORDER = "$setElementOrder/"
DELETE_SCALARS = "$deleteFromPrimitiveList/"


class MergeSchema(Protocol):
    """How a value merges. Where nothing is known (None), objects merge and lists are replaced."""

    @property
    def merge_key(self) -> str:
        """The field that identifies an element of this list; empty for lists of scalars."""

    @property
    def merge_strategies(self) -> Sequence[str]:
        """Of `merge`, `replace` and `retainKeys`."""

    def field(self, name: str) -> "MergeSchema | None":
        """The schema of a field of this object, or of the values of this map."""

    def element(self) -> "MergeSchema | None":
        """The schema of the elements of this list."""


class StrategicMergeError(ValueError):
    """A patch that cannot be applied. `is_malformed` when the patch is wrong by itself, whatever the object is."""

    def __init__(self, message: str, is_malformed: bool = False) -> None:
        self.is_malformed = is_malformed
        super().__init__(message)


def apply(original: JSONObject, patch: JSONObject, schema: MergeSchema | None) -> JSONObject:
    """The object after the patch."""
    if PATCH in patch:
        return _directed(patch)
    result = _retained(original, patch)
    orders = {key[len(SET_ORDER) :]: value for key, value in patch.items() if key.startswith(SET_ORDER)}
    for name, order in orders.items():
        _merge_ordered(result, patch, name, order, schema.field(name) if schema else None)
    for key, value in patch.items():
        if key == RETAIN_KEYS or key.startswith(SET_ORDER) or key in orders:
            continue
        if key.startswith(DELETE_SCALARS):
            name = key[len(DELETE_SCALARS) :]
            if isinstance(value, list) and isinstance(result.get(name), list):
                gone = set(map(_hashable, value))
                result[name] = [item for item in result[name] if _hashable(item) not in gone]
        elif value is None:
            result.pop(key, None)
        else:
            merged = _merge_value(result.get(key), value, schema.field(key) if schema else None)
            if merged is _DROPPED:
                result.pop(key, None)
            else:
                result[key] = merged
    return result


_DROPPED = object()


def is_merged(schema: MergeSchema | None) -> bool:
    """Whether a list's elements merge one by one."""
    return schema is not None and "merge" in schema.merge_strategies


def identity(item: Any, merge_key: str) -> Any:
    """What identifies a list element: the value of its merge key, or itself."""
    if not merge_key:
        return item
    if not isinstance(item, dict):
        raise StrategicMergeError(f"expected a map[string]interface {{}}, but received a {type_name(item)}")
    if merge_key not in item:
        raise StrategicMergeError(f"map: {format_value(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def _directed(patch: JSONObject) -> JSONObject:
    directive = patch[PATCH]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != PATCH}
    if directive == "delete":
        return {}
    raise _unknown_directive(patch)


def _unknown_directive(patch: JSONObject) -> StrategicMergeError:
    return StrategicMergeError(f"unknown patch type: {format_value(patch[PATCH])} in map: {format_value(patch)}")


def _retained(original: JSONObject, patch: JSONObject) -> JSONObject:
    """A copy of the original without the fields that $retainKeys leaves out."""
    if RETAIN_KEYS not in patch:
        return dict(original)
    keys = patch[RETAIN_KEYS]
    given = [
        key for key, value in patch.items() if value is not None and not key.startswith((SET_ORDER, DELETE_SCALARS))
    ]
    kept = {key for key in keys if isinstance(key, str)} if isinstance(keys, list) else None
    if kept is None or any(key not in kept for key in given if key != RETAIN_KEYS):
        raise StrategicMergeError("invalid patch format of retainKeys", is_malformed=True)
    return {key: value for key, value in original.items() if key in kept}


def _merge_value(live: Any, value: Any, schema: MergeSchema | None) -> Any:
    replaces = schema is not None and "replace" in schema.merge_strategies
    if isinstance(live, dict) and isinstance(value, dict):
        return value if replaces else apply(live, value, schema)
    if isinstance(live, list) and isinstance(value, list):
        return _merge_lists(live, value, schema) if is_merged(schema) else value
    return _cleaned(value)


def _cleaned(value: Any) -> Any:
    """A value that is new to the object: without nulls, directives, and the elements that only carried one."""
    if isinstance(value, dict):
        if value.get(PATCH) is not None:
            return _DROPPED
        fields = {key: _cleaned(item) for key, item in value.items() if item is not None and not _is_directive(key)}
        return {key: item for key, item in fields.items() if item is not _DROPPED}
    if isinstance(value, list):
        return [item for item in map(_cleaned, value) if item is not _DROPPED]
    return value


def _undirected(value: Any) -> Any:
    """What is in a list element that is new: nothing in it is directed, so directives say nothing there."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if item is not None and not _is_directive(key)}
        return {key: _undirected(item) for key, item in kept.items()}
    return [_undirected(item) for item in value] if isinstance(value, list) else value


def _is_directive(key: str) -> bool:
    return key in (PATCH, RETAIN_KEYS) or key.startswith((SET_ORDER, DELETE_SCALARS))


def _merge_lists(live: list[Any], patch: list[Any], schema: MergeSchema | None) -> list[Any]:
    if not live and not patch:
        return live
    merge_key = schema.merge_key if schema else ""
    if not _holds_objects(live, patch):
        known = set(map(_hashable, live))
        given = {_hashable(item): item for item in patch}
        merged = [*live, *(item for key, item in given.items() if key not in known)]
        return _ordered(merged, patch, live, "")
    if not merge_key:
        raise StrategicMergeError("cannot merge lists without merge key for struct")
    live, additions, replaced = _without_directives(live, patch, merge_key)
    if replaced:
        return additions
    merged = list(live)
    positions = {_hashable(identity(item, merge_key)): index for index, item in reversed(list(enumerate(live)))}
    for item in additions:
        key = _hashable(identity(item, merge_key))
        if key in positions:
            merged[positions[key]] = apply(merged[positions[key]], item, schema.element() if schema else None)
        else:
            positions[key] = len(merged)
            # A null key names an element that nobody has yet; decoding makes it the zero value.
            merged.append({**_undirected(item), merge_key: item[merge_key]})
    return _ordered(merged, additions, live, merge_key)


def _without_directives(live: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[JSONObject], bool]:
    """The live list after deletions, the elements of the patch that merge, and whether they replace the list."""
    additions = []
    gone = set()
    replaced = False
    for item in patch:
        directive = item.get(PATCH)
        if directive is None:
            additions.append(item)
        elif directive == "delete":
            gone.add(_hashable(identity(item, merge_key)))
        elif directive == "replace":
            replaced = True
        elif directive == "merge":
            raise StrategicMergeError("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    if gone:
        live = [item for item in live if _hashable(item.get(merge_key)) not in gone]
    return live, additions, replaced


def _holds_objects(*lists: list[Any]) -> bool:
    """Whether the lists hold objects; they must agree on that, and may not hold lists."""
    items = [item for items in lists for item in items]
    if any(isinstance(item, list) for item in items):
        raise StrategicMergeError("lists of lists are not supported")
    objects = [isinstance(item, dict) for item in items]
    if any(objects) and not all(objects):
        raise StrategicMergeError(f"list element types are not identical: {format_value(list(lists))}")
    return all(objects) and bool(objects)


def _merge_ordered(result: JSONObject, patch: JSONObject, name: str, order: Any, schema: MergeSchema | None) -> None:
    """Merge the list of that name and put it into the order that the patch asks for."""
    live, changes = result.get(name, []), patch.get(name, [])
    for value in (order, live, changes):
        if not isinstance(value, list):
            raise StrategicMergeError(f"expected a []interface {{}}, but received a {type_name(value)}")
    merge_key = schema.merge_key if schema else ""
    _check_order(changes, order, merge_key)
    if name not in result and name not in patch:
        return
    if name not in result:
        merged = _cleaned(changes)
    elif name not in patch:
        merged = live
    else:
        merged = _merge_lists(live, changes, schema) if is_merged(schema) else changes
    result[name] = _ordered(merged, order, live, merge_key)


def _check_order(changes: list[Any], order: list[Any], merge_key: str) -> None:
    """Elements of the patch must appear in the order list, in the same sequence."""
    if not changes or not order:
        return
    remaining = iter([identity(item, merge_key) for item in order])
    for item in changes:
        if isinstance(item, dict) and PATCH in item:
            continue
        wanted = identity(item, merge_key)
        if not any(candidate == wanted for candidate in remaining):
            raise StrategicMergeError(
                f"The order in patch list:\n{format_value(changes)}\n"
                f" doesn't match $setElementOrder list:\n{format_value(order)}\n"
            )


def _ordered(merged: list[Any], order: list[Any], live: list[Any], merge_key: str) -> list[Any]:
    """Elements named in `order` in that sequence, the others in live sequence, woven together by the live positions."""
    wanted = _positions(order, merge_key)
    known = _positions(live, merge_key)
    keyed = [(_hashable(identity(item, merge_key)), item) for item in merged]
    patched = sorted((pair for pair in keyed if pair[0] in wanted), key=lambda pair: wanted[pair[0]])
    others = sorted((pair for pair in keyed if pair[0] not in wanted), key=lambda pair: known.get(pair[0], -1))
    woven: list[Any] = []
    taken = 0
    for key, item in patched:
        while taken < len(others) and key in known and known.get(others[taken][0], len(live)) < known[key]:
            woven.append(others[taken][1])
            taken += 1
        woven.append(item)
    return woven + [item for _, item in others[taken:]]


def _positions(items: list[Any], merge_key: str) -> dict[Any, int]:
    return {_hashable(identity(item, merge_key)): index for index, item in reversed(list(enumerate(items)))}


def _hashable(value: Any) -> Any:
    # True equals 1 in Python and would share its place.
    return (type(value) is bool, value if isinstance(value, str | int | float | None) else format_value(value))
