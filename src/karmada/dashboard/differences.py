"""What override policies make of an object, as diffs of what is shown of it, which together cost little.

Pure.
"""

import orjson

from karmada.api import yaml
from karmada.dashboard.line_diff import line_diff
from karmada.dashboard.redaction import redacted
from karmada.dashboard.rows import JSONObject

LARGEST = 64 * 1024
"""Bytes of an object of which a diff is made: a larger one takes seconds to be written as YAML."""
MOST_SHOWN = 512 * 1024
"""Bytes of all objects that are written as YAML to be compared, which takes two seconds."""
MOST_EFFORT = 20_000_000
"""Steps in which lines are compared for all diffs, which takes two seconds at worst."""


class Differences:
    """Diffs of an object before and after a policy, each made once."""

    def __init__(self) -> None:
        self._made: dict[tuple[bytes, bytes], str] = {}
        self._shown: dict[bytes, list[str]] = {}
        self._room = MOST_SHOWN
        self._effort = MOST_EFFORT

    def between(self, before: bytes, after: bytes) -> str:
        """A diff without its head; empty where nothing that is shown differs."""
        if (before, after) not in self._made:
            # Most clusters have the same.
            self._made[before, after] = self._diff(before, after)
        return self._made[before, after]

    def _diff(self, before: bytes, after: bytes) -> str:
        if max(len(before), len(after)) > LARGEST:
            return f"the object has more than {LARGEST} bytes: it is not compared line by line\n"
        old, new = self._lines(before), self._lines(after)
        if old is None or new is None:
            return f"more than {MOST_SHOWN} bytes differ for all clusters: this is not compared line by line\n"
        found = line_diff(old, new)
        self._effort -= (effort := found.effort)
        if self._effort >= 0:
            return found.hunks()
        self._effort += effort  # Others may take less.
        return found.replaced()

    def _lines(self, text: bytes) -> list[str] | None:
        """What is shown of an object; None where too much was."""
        if text not in self._shown:
            if len(text) > self._room:
                return None
            self._room -= len(text)
            self._shown[text] = shown(orjson.loads(text))
        return self._shown[text]


def shown(tree: JSONObject) -> list[str]:
    """The lines that are shown of an object: no status, no secret, nobody's ownership of fields."""
    kept = {key: value for key, value in without_managers(tree).items() if key != "status"}
    return yaml.dump(redacted(kept)).splitlines(keepends=True)


def without_managers(tree: JSONObject) -> JSONObject:
    """An object without the bookkeeping of who set which field."""
    about = {key: value for key, value in tree["metadata"].items() if key != "managedFields"}
    return {**tree, "metadata": about}
