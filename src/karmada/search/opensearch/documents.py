"""Objects as documents of OpenSearch, and what its answer to a bulk request means. Pure.

One index for a kind, `kubernetes-<kind in lower case>`, the uid of an object as the id of its document. Clients of the
reference find the same fields: spec and status are JSON texts, everything that is looked for is in the metadata.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

import orjson

from karmada.api.annotations import LAST_APPLIED_CONFIGURATION
from karmada.machinery.limits import printable
from karmada.machinery.transport import JSONObject

REASON = 200
"""Characters of an OpenSearch's reason that are passed on."""
_TEXT = {"type": "text"}
_KEYWORD = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
_KEPT_ONLY = {"type": "object", "enabled": False}
INDEX = orjson.dumps(
    {
        "settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0}},
        "mappings": {
            "properties": {
                "apiVersion": _TEXT,
                "kind": _TEXT,
                "metadata": {
                    "properties": {
                        **dict.fromkeys(("annotations", "labels"), _KEPT_ONLY),
                        **dict.fromkeys(("creationTimestamp", "deletionTimestamp", "ownerReferences"), _TEXT),
                        **dict.fromkeys(("name", "namespace", "resourceVersion"), _KEYWORD),
                    }
                },
                "spec": _KEPT_ONLY,
                "status": _KEPT_ONLY,
            }
        },
    }
)
"""How an index of documents is made."""


class Action(NamedTuple):
    """One change of a document: it becomes `document`, or goes where there is none."""

    where: str
    """The index."""
    uid: str
    document: bytes | None


class Verdict(Enum):
    """What became of an action."""

    DONE = "done"
    AGAIN = "to be tried again"
    FORBIDDEN = "not allowed"
    REFUSED = "not to be tried again before the object changes"


class Outcome(NamedTuple):
    """What became of an action, and why."""

    verdict: Verdict
    reason: str = ""


def index_of(kind: str) -> str:
    """The index of a kind."""
    return f"kubernetes-{kind.lower()}"


def document(body: bytes, api_version: str, kind: str) -> bytes:
    """The document of an encoded object; raises `ValueError` for what is no object."""
    obj: JSONObject = orjson.loads(body)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise ValueError("the object has no metadata")
    annotations = metadata.get("annotations")
    if kind == "Secret" and isinstance(annotations, dict):
        annotations.pop(LAST_APPLIED_CONFIGURATION, None)  # it repeats the data
    made = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": metadata.get("name", ""),
            "namespace": metadata.get("namespace", ""),
            "creationTimestamp": metadata.get("creationTimestamp"),
            "labels": metadata.get("labels"),
            "annotations": annotations,
            "deletionTimestamp": metadata.get("deletionTimestamp"),
        },
        "spec": orjson.dumps(obj.get("spec")).decode(),
        "status": orjson.dumps(obj.get("status")).decode(),
    }
    return orjson.dumps(made)


def bulk(actions: Iterable[Action]) -> bytes:
    """The body of a bulk request."""
    return b"".join(_lines(actions))


def _lines(actions: Iterable[Action]) -> Iterator[bytes]:
    for action in actions:
        verb = "delete" if action.document is None else "index"
        yield orjson.dumps({verb: {"_index": action.where, "_id": action.uid}}) + b"\n"
        if action.document is not None:
            yield action.document + b"\n"


def outcomes(body: bytes, count: int) -> list[Outcome]:
    """What became of each of `count` actions; an answer that does not say is no success."""
    try:
        items = orjson.loads(body)["items"]
        found = [next(iter(item.items())) for item in items]
        return [_outcome(verb, result) for verb, result in found] if len(found) == count else _unknown(count)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return _unknown(count)


def _unknown(count: int) -> list[Outcome]:
    return [Outcome(Verdict.AGAIN, "its answer to a bulk request cannot be read")] * count


def _outcome(verb: str, result: dict[str, Any]) -> Outcome:
    status = int(result["status"])
    if status < 300 or (verb == "delete" and status == 404):
        return Outcome(Verdict.DONE)
    error = result.get("error")
    kind, reason = (error.get("type"), error.get("reason")) if isinstance(error, dict) else ("", error)
    text = printable(f"{status} {kind or ''} {reason or ''}".strip(), REASON)
    if status in (401, 403):
        return Outcome(Verdict.FORBIDDEN, text)
    again = status == 429 or status >= 500 or status == 404
    return Outcome(Verdict.AGAIN if again else Verdict.REFUSED, text)
