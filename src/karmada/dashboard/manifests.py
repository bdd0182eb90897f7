"""Manifests of a request: text in, objects with the lines of their fields out."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from karmada.api import yaml
from karmada.api.yaml_lines import line_of
from karmada.dashboard.answers import bad_request
from karmada.dashboard.names import checked_kind, checked_object
from karmada.dashboard.rows import JSONObject

MOST = 200
"""Objects of one request."""
_STEP = re.compile(r"\[(\d+)\]|\['?([^\]']+)'?\]|([^.\[\]]+)")


class Manifest(NamedTuple):
    """One object and where it stands."""

    item: JSONObject
    text: str
    document: int
    inside: tuple[str | int, ...] = ()

    def line(self, field: str) -> int:
        """The line of a field, or of the nearest part above it that is there."""
        return line_of(self.text, self.document, (*self.inside, *steps(field)))


def read(body: dict[str, Any]) -> list[Manifest]:
    """The objects of a body's `manifests`."""
    text = body.get("manifests", "")
    if not isinstance(text, str):
        raise bad_request("manifests: must be a text of YAML documents")
    try:
        documents = list(yaml.load_all(text))
    except yaml.YAMLError as error:
        raise bad_request(f"manifests: {error}") from None
    found: list[Manifest] = []
    for number, document in enumerate(documents):
        if isinstance(document, dict) and isinstance(document.get("items"), list):
            parts: Sequence[tuple[Any, tuple[str | int, ...]]] = [
                (item, ("items", index)) for index, item in enumerate(document["items"])
            ]
        else:
            parts = [(document, ())]
        found += [Manifest(_checked(item, text, number), text, number, inside) for item, inside in parts]
    if len(found) > MOST:
        raise bad_request(f"manifests: {len(found)} objects at once; send at most {MOST}")
    return found


def _checked(item: Any, text: str, number: int) -> JSONObject:
    line = line_of(text, number, ())
    if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
        raise bad_request(f"manifests: line {line}: an object has apiVersion, kind and metadata")
    checked_kind(str(item.get("apiVersion", "")), str(item.get("kind", "")))
    checked_object(str(item["metadata"].get("name", "")))
    return item


def steps(field: str) -> list[str | int]:
    """`spec.rules[0].name` as steps."""
    return [int(index) if index else key or word for index, key, word in _STEP.findall(field)]
