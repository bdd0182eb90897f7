"""Encoded discovery documents, made when first asked for and kept until the served types change."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from karmada.apiserver.discovery import documents
from karmada.apiserver.resources import ResourceType

JSONObject = dict[str, Any]


def _no_others() -> Sequence[JSONObject]:
    return ()


class Discovery:
    """Answers discovery requests for the types that `types` returns; `changes` grows with every change of them."""

    def __init__(
        self,
        types: Callable[[], Sequence[ResourceType]],
        changes: Callable[[], int],
        others: Callable[[], Sequence[JSONObject]] = _no_others,
        address: str = "",
    ) -> None:
        self._types = types
        self._changes = changes
        self._others = others
        self._address = address
        self._seen = -1
        self._encoded: dict[tuple[str, str], bytes] = {}

    def get(self, path: str, aggregated: str = "") -> bytes | None:
        """The document at a path such as /apis/apps/v1, or None. `aggregated` is a version of the aggregated form,
        which only /api and /apis have."""
        changes = self._changes()
        if changes != self._seen:
            self._encoded.clear()
            self._seen = changes
        key = (path.rstrip("/"), aggregated)
        encoded = self._encoded.get(key)
        if encoded is None:
            document = self._document(*key)
            if document is None:
                return None
            encoded = self._encoded[key] = orjson.dumps(document)
        return encoded

    def _document(self, path: str, aggregated: str) -> JSONObject | None:
        types = self._types()
        match path.split("/")[1:]:
            case ["api"] if aggregated:
                return documents.aggregated(types, True, aggregated)
            case ["api"]:
                return documents.core_versions(self._address)
            case ["api", version]:
                return documents.resource_list("", version, types)
            case ["apis"] if aggregated:
                return documents.aggregated(types, False, aggregated, self._others())
            case ["apis"]:
                return documents.group_list(types, self._others())
            case ["apis", group]:
                return documents.group(group, types, self._others())
            case ["apis", group, version]:
                return documents.resource_list(group, version, types)
        return None
