"""Topic `descheduler`: what one binding gives back."""

from typing import Any

import orjson

from karmada.api.codec import encode, from_tree
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.descheduler.rules import descheduled, is_considered, undesired
from karmada.testing.golden.case import Topic


def _deschedule(given: dict[str, Any]) -> dict[str, Any]:
    binding = from_tree(given["binding"], ResourceBinding)
    if not is_considered(binding):
        return {"considered": False}
    outcome = descheduled(binding, given.get("unschedulable") or {})
    observed = {
        "considered": True,
        "undesired": sorted(undesired(binding)),
        "clusters": orjson.loads(encode(outcome.clusters)),
        "updated": bool(outcome.given),
    }
    if outcome.given:
        observed["event"] = f"Normal DescheduleBindingSucceed {outcome.message}"
    return observed


TOPIC = Topic("descheduler", {"descheduler.Deschedule": _deschedule})
