"""Manifests of a request: text in, objects with the lines of their fields out."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from karmada.api import yaml
from karmada.api.yaml_lines import line_in, nodes_of
from karmada.apiserver.requests import offload
from karmada.dashboard.answers import bad_request
from karmada.dashboard.names import checked_kind, checked_object
from karmada.dashboard.rows import JSONObject

MOST = 200
"""Objects of one request."""
_STEP = re.compile(r"\[(\d+)\]|\['?([^\]']+)'?\]|([^.\[\]]+)")


class Lines:
    """The lines of a text, which is taken apart once and only when somebody asks for one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._nodes: list[Any] | None = None

    async def of(self, document: int, path: Sequence[str | int]) -> int:
        """The line of a field of a document."""
        if self._nodes is None:
            self._nodes = await offload.run(offload.EXPENSIVE * len(self._text), nodes_of, self._text)
        return line_in(self._nodes, document, path)


class Manifest(NamedTuple):
    """One object and where it stands."""

    item: JSONObject
    lines: Lines
    document: int
    inside: tuple[str | int, ...] = ()

    async def line(self, field: str) -> int:
        """The line of a field, or of the nearest part above it that is there."""
        return await self.lines.of(self.document, (*self.inside, *steps(field)))


async def read(body: dict[str, Any]) -> list[Manifest]:
    """The objects of a body's `manifests`."""
    text = body.get("manifests", "")
    if not isinstance(text, str):
        raise bad_request("manifests: must be a text of YAML documents")
    try:
        documents = await offload.run(offload.EXPENSIVE * len(text), _documents, text)
    except yaml.YAMLError as error:
        raise bad_request(f"manifests: {error}") from None
    places: list[tuple[Any, int, tuple[str | int, ...]]] = []
    for number, document in enumerate(documents):
        if isinstance(document, dict) and isinstance(document.get("items"), list):
            places += [(item, number, ("items", index)) for index, item in enumerate(document["items"])]
        else:
            places.append((document, number, ()))
    if len(places) > MOST:
        raise bad_request(f"manifests: {len(places)} objects at once; send at most {MOST}")
    lines = Lines(text)
    for item, number, _ in places:
        if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
            line = await lines.of(number, ())
            raise bad_request(f"manifests: line {line}: an object has apiVersion, kind and metadata")
        checked_kind(str(item.get("apiVersion", "")), str(item.get("kind", "")))
        checked_object(str(item["metadata"].get("name", "")))
    return [Manifest(item, lines, number, inside) for item, number, inside in places]


def _documents(text: str) -> list[Any]:
    return list(yaml.load_all(text))


def steps(field: str) -> list[str | int]:
    """`spec.rules[0].name` as steps."""
    return [int(index) if index else key or word for index, key, word in _STEP.findall(field)]
