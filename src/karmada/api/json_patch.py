"""JSON patches (RFC 6902), with the error texts of the library that Kubernetes and Karmada use.

`apply` never changes its arguments: it copies each container that it changes, once, and shares the rest, so that a
patch costs what its operations and the containers they touch cost. Two things go beyond the RFC because clients rely
on them: negative indexes count from the end, and testing an absent member for null succeeds.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from karmada.api.merge_patch import same_json

Container = dict[str, Any] | list[Any]

COPY_LIMIT = 3 * 1024 * 1024
"""Bytes that all copy operations of a patch may add, so that a small patch cannot make a huge object."""

SHIFT_LIMIT = 200_000_000
"""List elements that all operations of a patch may move aside, which takes a few tenths of a second."""
_MOVED = 8
"""Elements of a list that are moved aside in the time that one is copied."""

_MISSING = "missing value"
_BAD_INDEX = "invalid index referenced"
_INDEX = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


class JSONPatchError(ValueError):
    """A patch that is malformed or does not fit the document; `path` is the pointer it failed at."""

    def __init__(self, message: str, path: str = "") -> None:
        self.path = path
        super().__init__(message)


class JSONPatchTestFailed(JSONPatchError):
    """A test operation found another value."""


def create(original: dict[str, Any], modified: dict[str, Any], path: str = "") -> list[dict[str, Any]]:
    """Operations that turn one object into the other, nulls and all; lists are replaced as a whole."""
    made: list[dict[str, Any]] = [
        {"op": "remove", "path": f"{path}/{escape(key)}"} for key in original if key not in modified
    ]
    for key, value in modified.items():
        before, place = original.get(key), f"{path}/{escape(key)}"
        if type(value) is dict and type(before) is dict:
            made += create(before, value, place)
        elif key not in original or not same_json(value, before):
            made.append({"op": "add", "path": place, "value": value})
    return made


def apply(
    document: Any,
    operations: Any,
    *,
    replace_may_create: bool = False,
    spend: Callable[[int], None] = lambda count: None,
) -> Any:
    """The document after all operations, or an error and no effect at all. `spend` gets the number of entries that are
    copied or moved aside for them, and may raise.

    With `replace_may_create`, replacing an absent member adds it and copying one copies null, as the Kubernetes API
    server does, which refuses operations on the document as a whole. For Karmada's overrides it is the other way round.
    """
    if not isinstance(operations, list | tuple):
        raise JSONPatchError(f"a JSON patch is a list of operations, not {_text(operations)}")
    for operation in operations:
        _validate(operation)
        if (
            replace_may_create
            and operation["op"] != "replace"
            and not (operation["path"] and operation.get("from", "/"))
        ):
            raise JSONPatchError("operations on the document as a whole are not known")
    patching = _Patching(document, replace_may_create, spend)
    for operation in operations:
        patching.run(operation)
    return patching.document


def escape(key: str) -> str:
    """The key as one step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def pointer(steps: Iterable[str | int]) -> str:
    """The JSON pointer through these keys and indexes."""
    return "".join(f"/{escape(str(step))}" for step in steps)


class _Lookup(Exception):
    """A member or element does not exist; the message says which."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(f"{message}: {reason}")


def _validate(operation: Any) -> None:
    if not isinstance(operation, dict):
        raise JSONPatchError(f"an operation of a JSON patch is an object, not {_text(operation)}")
    kind = operation.get("op")
    problem = ""
    if kind in ("add", "replace"):
        if "value" not in operation:
            problem = f"failed to decode 'value': operation, missing value field: {_MISSING}"
    elif kind in ("move", "copy"):
        if not isinstance(operation.get("from"), str):
            problem = f"failed to decode 'from': operation, missing from field: {_MISSING}"
    elif kind not in ("remove", "test"):
        problem = "unsupported operation"
    if not problem and not isinstance(operation.get("path"), str):
        problem = f"failed to decode 'path': operation missing path field: {_MISSING}"
    if problem:
        raise JSONPatchError(f"invalid operation {_text(operation)}: {problem}")


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _steps(path: str) -> list[str] | None:
    """Keys along a pointer; none if it is not one."""
    if not path.startswith("/"):
        return None
    if "~" not in path:
        return path.split("/")[1:]
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _index(step: str, size: int, last: int) -> int:
    if not _INDEX.fullmatch(step):
        raise _Lookup(f'strconv.Atoi: parsing "{step}"', "invalid syntax")
    index = int(step)
    if index < -size or index > last:
        raise _Lookup(f"Unable to access invalid index: {index}", _BAD_INDEX)
    return index + size if index < 0 else index


def _get(container: Container, step: str) -> Any:
    if isinstance(container, list):
        return container[_index(step, len(container), len(container) - 1)]
    if step not in container:
        raise _Lookup(f"unable to get nonexistent key: {step}", _MISSING)
    return container[step]


def _set(container: Container, step: str, value: Any) -> None:
    if isinstance(container, list):
        container[_index(step, len(container), len(container) - 1)] = value
    else:
        container[step] = value


class _Patching:
    """A document under change."""

    def __init__(self, document: Any, replace_may_create: bool, spend: Callable[[int], None]) -> None:
        self.document = document
        self._spend = spend
        self._may_create = replace_may_create
        self._own: dict[int, Container] = {}
        """The containers made here, which may be changed in place; held, so that no other takes their identity."""
        self._copied = 0
        self._shifted = 0

    def run(self, operation: dict[str, Any]) -> None:
        """Carry out one operation."""
        path = operation["path"]
        match operation["op"]:
            case "add":
                self._add(path, operation["value"])
            case "remove":
                missing = f'remove operation does not apply: doc is missing path: "{path}"'
                self._edit(path, missing, f"error in remove for path: '{path}'", self._drop)
            case "replace":
                self._replace(path, operation["value"])
            case "move":
                self._move(operation["from"], path)
            case "test":
                self._test(path, operation.get("value"))
            case _:
                self._copy(operation["from"], path)

    def _edit(self, path: str, missing: str, context: str, change: Callable[[Container, str], None]) -> None:
        """Change the container that holds the last step of the path."""
        self._visit(path, missing, context, change, own=True)

    def _visit(
        self, path: str, missing: str, context: str, act: Callable[[Container, str], None], own: bool = False
    ) -> None:
        """Act on the container that holds the last step of the path, made our own if it is going to change."""
        steps = _steps(path)
        if steps is None or not isinstance(self.document, dict | list):
            raise JSONPatchError(f"{missing}: {_MISSING}", path)
        if own:
            self.document = self._owned(self.document)
        container = self.document
        try:
            for step in steps[:-1]:
                child = _get(container, step)
                if not isinstance(child, dict | list):
                    raise JSONPatchError(f"{missing}: {_MISSING}", path)
                if own and id(child) not in self._own:
                    child = self._owned(child)
                    _set(container, step, child)
                container = child
        except _Lookup as problem:
            raise JSONPatchError(f"{missing}: {_MISSING}", path) from problem
        try:
            act(container, steps[-1])
        except _Lookup as problem:
            raise JSONPatchError(f"{context}: {problem}", path) from problem

    def _owned(self, container: Container) -> Container:
        if id(container) in self._own:
            return container
        self._spend(len(container))
        copy = container.copy()
        self._own[id(copy)] = copy
        return copy

    def _add(self, path: str, value: Any) -> None:
        missing = f'add operation does not apply: doc is missing path: "{path}"'
        self._paste(path, value, missing, f"error in add for path: '{path}'")

    def _paste(self, path: str, value: Any, missing: str, context: str) -> None:
        if path == "":
            self.document = value
        else:
            self._edit(path, missing, context, lambda at, step: self._put(at, step, value))

    def _replace(self, path: str, value: Any) -> None:
        def change(container: Container, step: str) -> None:
            if not self._may_create or isinstance(container, list):
                try:
                    _get(container, step)
                except _Lookup as problem:
                    absent = f"replace operation does not apply: doc is missing key: {path}: {_MISSING}"
                    raise JSONPatchError(absent, path) from problem
            _set(container, step, value)

        if path == "":
            self.document = value
            return
        missing = f"replace operation does not apply: doc is missing path: {path}"
        self._edit(path, missing, f"error in replace for path: '{path}'", change)

    def _move(self, source: str, path: str) -> None:
        if source == "":
            raise JSONPatchError("unable to move entire document to another path: invalid state detected", path)
        moved: list[Any] = []

        def take(container: Container, step: str) -> None:
            moved.append(_get(container, step))
            self._drop(container, step)

        missing = f"move operation does not apply: doc is missing from path: {source}"
        self._edit(source, missing, f"error in move for path: '{source}'", take)
        missing = f"move operation does not apply: doc is missing destination path: {path}"
        self._paste(path, moved[0], missing, f"error in move for path: '{path}'")

    def _copy(self, source: str, path: str) -> None:
        encoded = orjson.dumps(self._fetch(source))
        self._copied += len(encoded)
        if self._copied > COPY_LIMIT:
            raise JSONPatchError(
                f"Unable to complete the copy, the accumulated size increase of copy is {self._copied}, "
                f"exceeding the limit {COPY_LIMIT}",
                path,
            )
        # A copy of its own: whoever gets the document may change it in place, as defaulting does.
        value = orjson.loads(encoded)
        missing = f"copy operation does not apply: doc is missing destination path: {path}"
        self._paste(path, value, missing, "error while adding value during copy")

    def _fetch(self, source: str) -> Any:
        """The value that a copy operation reads."""
        if source == "":
            return self.document
        found: list[Any] = []
        missing = f'copy operation does not apply: doc is missing from path: "{source}"'
        context = f"error in copy for from: '{source}'"

        def read(container: Container, step: str) -> None:
            absent = self._may_create and isinstance(container, dict) and step not in container
            found.append(None if absent else _get(container, step))

        self._visit(source, missing, context, read)
        return found[0]

    def _test(self, path: str, value: Any) -> None:
        def compare(container: Container, step: str) -> None:
            absent = isinstance(container, dict) and step not in container
            check(None if absent else _get(container, step))

        def check(actual: Any) -> None:
            if not same_json(actual, value):
                raise JSONPatchTestFailed(f"testing value {path} failed: test failed", path)

        if path == "":
            check(self.document)
        else:
            missing = f"test operation does not apply: is missing path: {path}"
            self._visit(path, missing, f"error in test for path: '{path}'", compare)

    def _put(self, container: Container, step: str, value: Any) -> None:
        """As `_set`, but into a list it inserts."""
        if isinstance(container, dict):
            container[step] = value
        elif step == "-":
            container.append(value)
        elif _INDEX.fullmatch(step):
            index = _index(step, len(container) + 1, len(container))
            self._shift(container, index)
            container.insert(index, value)
        else:
            message = f"value was not a proper array index: '{step}': strconv.Atoi: parsing \"{step}\""
            raise _Lookup(message, "invalid syntax")

    def _drop(self, container: Container, step: str) -> None:
        if isinstance(container, list):
            index = _index(step, len(container), len(container) - 1)
            self._shift(container, index)
            del container[index]
        elif step not in container:
            raise _Lookup(f"unable to remove nonexistent key: {step}", _MISSING)
        else:
            del container[step]

    def _shift(self, container: list[Any], index: int) -> None:
        self._spend((len(container) - index) // _MOVED)
        self._shifted += len(container) - index
        if self._shifted > SHIFT_LIMIT:
            raise JSONPatchError(f"the patch moves more than {SHIFT_LIMIT} elements of lists aside")
