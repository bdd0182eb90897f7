"""Any object: its fields under names with blanks, in alphabetical order."""

import re
from typing import Any

from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Related

JSONObject = dict[str, Any]
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z-]+|-+")
_ACRONYMS = {"Api": "API", "Uid": "UID", "Url": "URL", "Osb": "OSB", "Guid": "GUID"}
_HIDDEN = frozenset({"managedFields", "name", "namespace", "labels", "annotations"})


def describe(page: Page, item: JSONObject, _: Related) -> None:
    """The whole object."""
    about = item["metadata"]
    page.field(0, "Name", about["name"])
    page.field(0, "Namespace", about.get("namespace", ""))
    metadata.labels(page, about.get("labels"))
    metadata.annotations(page, about.get("annotations"))
    rest = {key: value for key, value in about.items() if key not in _HIDDEN}
    _fields(page, 0, {**item, "metadata": rest})


def _fields(page: Page, level: int, fields: JSONObject) -> None:
    for key in sorted(fields):
        value = fields[key]
        if isinstance(value, dict):
            page.line(level, f"{spelled(key)}:")
            _fields(page, level + 1, value)
        elif isinstance(value, list):
            page.line(level, f"{spelled(key)}:")
            _items(page, level + 1, value)
        else:
            page.field(level, spelled(key), _text(value))


def _items(page: Page, level: int, values: list[Any]) -> None:
    for value in values:
        if isinstance(value, dict):
            _fields(page, level, value)
        elif isinstance(value, list):
            _items(page, level + 1, value)
        else:
            page.line(level, _text(value))


def spelled(key: str) -> str:
    """`apiVersion` as `API Version`; keys that are no names stay as they are."""
    if not key.replace("-", "").isalpha():
        return key
    words = [word[0].upper() + word[1:] for word in _WORD.findall(key)]
    return " ".join(_ACRONYMS.get(word, word) for word in words)


def _text(value: Any) -> str:
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
    return str(value)
