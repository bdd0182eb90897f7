"""Moving from client-side to server-side apply.

kubectl's client-side apply kept its configuration in an annotation. When `kubectl apply --server-side` meets it, what
that configuration set and nobody changed since is not a conflict, and the annotation follows the new configuration
so that client-side apply keeps working.
"""

from typing import Any

import orjson

from karmada.apiserver.managedfields.comparison import compare
from karmada.apiserver.managedfields.fieldset import EMPTY, Fields, difference
from karmada.apiserver.managedfields.owned import owned_by
from karmada.apiserver.schema.model import Schema

JSONObject = dict[str, Any]

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER = "kubectl"


def unchanged_since(live: JSONObject, schema: Schema) -> Fields:
    """Fields that hold what client-side apply set last."""
    try:
        config = orjson.loads((live["metadata"].get("annotations") or {})[ANNOTATION])
    except (KeyError, orjson.JSONDecodeError):
        return EMPTY
    if not isinstance(config, dict) or not isinstance(config.get("metadata", {}), dict):
        return EMPTY
    differing = compare(live, config, schema)
    return difference(difference(owned_by(config, schema), differing.changed), differing.removed)


def follow(result: JSONObject, config: JSONObject) -> None:
    """Bring the annotation of the applied object up to date, where there is one."""
    annotations = result["metadata"].get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return
    metadata = {key: value for key, value in config["metadata"].items() if key != "managedFields"}
    kept = {**config, "metadata": metadata}
    annotations[ANNOTATION] = orjson.dumps(kept, option=orjson.OPT_SORT_KEYS).decode() + "\n"
