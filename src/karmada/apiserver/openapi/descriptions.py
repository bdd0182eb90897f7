"""Descriptions of built-in kinds and their fields, from an installed package that has Kubernetes' own.

The sentences are the Kubernetes authors', so this package has none of them: `kubernetes-validate` brings them. They are
read when a document is made and not kept: documents are.
"""

import logging
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

JSONObject = dict[str, Any]
POINTER = (
    "Built-in kinds have no descriptions here: install the Python package kubernetes-validate where the control plane "
    "runs, or read https://kubernetes.io/docs/reference/kubernetes-api/."
)
_PACKAGE = "kubernetes_validate"
log = logging.getLogger(__name__)


class Descriptions:
    """The definitions of one version of Kubernetes in a file; a pointer to them where there is no file."""

    def __init__(self, source: Path | None) -> None:
        self._source = source
        self.version = source.parent.name if source is not None else ""
        """Changes when the descriptions may have changed."""

    def describe(self, schemas: Iterable[tuple[str, JSONObject]]) -> None:
        """Write descriptions into schemas of built-in definitions, given with their names."""
        known = self._read()
        for name, schema in schemas:
            own = known.get(name)
            if own is None:
                if "x-kubernetes-group-version-kind" in schema and self._source is None:
                    schema["description"] = POINTER
                continue
            if text := own.get("description"):
                schema["description"] = text
            texts = own.get("properties") or {}
            for field, child in (schema.get("properties") or {}).items():
                if text := (texts.get(field) or {}).get("description"):
                    child["description"] = text

    def _read(self) -> JSONObject:
        if self._source is None:
            return {}
        try:
            tree = orjson.loads(self._source.read_bytes())
        except (OSError, orjson.JSONDecodeError) as error:  # Kinds are served as well without words.
            log.warning("there are no descriptions of built-in kinds: %s: %s", self._source, error)
            return {}
        found: JSONObject = tree.get("$defs") or {}
        return found


@cache
def installed(version: str) -> Descriptions:
    """The installed descriptions of a version of Kubernetes, e.g. 1.36; the newest where that one is not among them."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return Descriptions(None)
    folder = Path(spec.origin).parent / "kubernetes-json-schema"
    found = {_number(path.parent.name): path for path in folder.glob("v*-local/_definitions.json")}
    wanted = _number(f"v{version}.0-local")
    return Descriptions(found.get(wanted) or (found[max(found)] if found else None))


def _number(folder: str) -> tuple[int, ...]:
    """Major and minor of a folder's name, e.g. v1.36.0-local."""
    return tuple(int(part) for part in folder.removeprefix("v").removesuffix("-local").split(".")[:2])
