"""Reading trees the way bundled rules do.

The reference's bundled rules take some sections of a resource for granted and fail where one is missing; others they
look for. `at` is for the former, `find` for the latter.
"""

from typing import Any

from karmada.interpreter.model import InterpretError


def at(tree: Any, *path: str) -> Any:
    """The value at a path, None when only the last step is absent; an error when a section on the way is."""
    for index, step in enumerate(path):
        if isinstance(tree, dict):
            tree = tree.get(step)
        elif isinstance(tree, list | str):
            tree = None
        else:
            raise InterpretError(f"cannot read {'.'.join(path)}: {'.'.join(path[:index]) or 'the value'} is missing")
    return tree


def find(tree: Any, *path: str) -> Any:
    """The value at a path, None when anything on the way is absent."""
    for step in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(step)
    return tree


def entries(value: Any) -> list[Any]:
    """The entries of a list; none when it is absent."""
    return value if isinstance(value, list) else []


def number(value: Any, what: str) -> Any:
    """A number that a rule calculates with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InterpretError(f"{what} is {value!r}, not a number")
    return value
