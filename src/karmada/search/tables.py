"""Objects of several clusters as one Table: the columns of their kind, and CLUSTER after the name."""

from collections.abc import Sequence

import orjson

from karmada.api.annotations import CACHED_FROM_CLUSTER
from karmada.apiserver.printing.table import printer_of
from karmada.apiserver.requests import reading
from karmada.apiserver.requests.model import Call
from karmada.apiserver.resources import JSONObject

_COLUMN = {
    "name": "Cluster",
    "type": "string",
    "format": "",
    "description": "Cluster that the object is in.",
    "priority": 0,
}


def table(call: Call, objects: Sequence[JSONObject], version: str, more: JSONObject | None = None) -> bytes:
    """A Table of some objects that are annotated with their cluster."""
    order = printer_of(call.served.type).order
    shown = sorted(objects, key=order) if order else list(objects)
    body: JSONObject = orjson.loads(reading.table(call, shown, version, more))
    body["columnDefinitions"].insert(1, _COLUMN)
    for row, obj in zip(body["rows"], shown, strict=True):
        row["cells"].insert(1, cluster_of(obj))
    return orjson.dumps(body)


def cluster_of(obj: JSONObject) -> str:
    """The cluster that a cached object is from."""
    cluster: str = (obj["metadata"].get("annotations") or {}).get(CACHED_FROM_CLUSTER, "")
    return cluster
