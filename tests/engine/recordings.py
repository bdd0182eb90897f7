"""Objects of the reference, as its recordings show them, made loadable: placeholders become ids and times."""

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from karmada.apiserver.server import ApiServer

TRACES = Path(__file__).parents[3] / "shared" / "golden" / "traces"
SPACE = uuid.UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")
_PLACEHOLDER = re.compile(r"<(time|uuid|(?:uid|permanent-id|cluster-id):[^>]*)>")


def recording(scenario: str) -> dict[str, Any]:
    """What there was after the first step of a scenario: hub and members."""
    path = sorted((TRACES / scenario / "trace").iterdir())[0]
    found: dict[str, Any] = _filled(yaml.load(path.read_text(), Loader=yaml.CSafeLoader))
    return found


def objects(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects of one side of a recording."""
    return (obj for name, obj in tree.items() if not name.startswith("~"))


async def load(server: ApiServer, obj: dict[str, Any]) -> None:
    """Put an object into a server as it is, as if it had always been there."""
    group, _, version = obj["apiVersion"].rpartition("/")
    served = server.catalog.by_kind(group, version, obj["kind"])
    assert served is not None, obj["kind"]
    metadata = obj["metadata"]
    place = (served.key, metadata.get("namespace", ""), metadata["name"])
    if server.store.get(*place) is None:
        await server.store.create(*place, served.encode(obj), served.index(obj))


def _filled(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _filled(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_filled(item) for item in tree]
    if not isinstance(tree, str):
        return tree
    if tree.startswith("<json>"):
        return json.dumps(json.loads(_PLACEHOLDER.sub(_fill, tree.removeprefix("<json>"))), separators=(",", ":"))
    return _PLACEHOLDER.sub(_fill, tree)


def _fill(found: re.Match[str]) -> str:
    return "2026-01-01T00:00:00Z" if found[1] == "time" else str(uuid.uuid5(SPACE, found[1]))
