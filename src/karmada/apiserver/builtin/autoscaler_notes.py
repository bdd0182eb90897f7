"""Annotations of an autoscaling/v1 autoscaler with what its form cannot say: metrics, behaviour, conditions.

They are in the forms that Kubernetes gives them: metrics as older versions spelled them, behaviour with the names of
its fields in Go. Text that does not decode is as good as none.
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from karmada.api.go_text import escape_html
from karmada.apiserver.builtin.autoscaler_metrics import FOUND, WANTED, flat, nested, typed
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.definitions import definition
from karmada.apiserver.schema.scalars import Mismatch

JSONObject = dict[str, Any]
_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _BEHAVIOR = f"{_PREFIX}metrics", f"{_PREFIX}behavior"
_CONDITIONS, _CURRENT = f"{_PREFIX}conditions", f"{_PREFIX}current-metrics"
NOTES = frozenset(
    {_METRICS, _BEHAVIOR, _CONDITIONS, _CURRENT, f"{_PREFIX}scale-down-tolerance", f"{_PREFIX}scale-up-tolerance"}
)
_V2 = "io.k8s.api.autoscaling.v2."
_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY = ("type", "value", "periodSeconds")


def written(metrics: list[JSONObject], behavior: Any, current: Any, conditions: Any) -> dict[str, str]:
    """The annotations that say all this; none for what there is not."""
    notes: JSONObject = {}
    if metrics:
        notes[_METRICS] = [flat(metric, WANTED) for metric in metrics]
    if behavior is not None:
        notes[_BEHAVIOR] = {_go(name): _go_rules(behavior.get(name)) for name in ("scaleUp", "scaleDown")}
    if current:
        notes[_CURRENT] = [flat(metric, FOUND) for metric in current]
    if conditions:
        notes[_CONDITIONS] = conditions
    return {name: escape_html(orjson.dumps(value).decode()) for name, value in notes.items()}


def noted_metrics(notes: Mapping[str, str]) -> list[JSONObject]:
    """The metrics that annotations name."""
    return _read(notes, _METRICS, lambda metric: typed(nested(metric, WANTED), metric), "MetricSpec") or []


def noted_values(notes: Mapping[str, str]) -> list[JSONObject] | None:
    """The current values of metrics that annotations name."""
    return _read(notes, _CURRENT, lambda metric: nested(metric, FOUND), "MetricStatus")


def noted_conditions(notes: Mapping[str, str]) -> list[JSONObject] | None:
    """The conditions that annotations name."""
    return _read(notes, _CONDITIONS, lambda condition: condition, "HorizontalPodAutoscalerCondition")


def noted_behavior(notes: Mapping[str, str]) -> JSONObject | None:
    """The behaviour that annotations name."""
    try:
        found = _camel(orjson.loads(notes.get(_BEHAVIOR, "null")))
        if not isinstance(found, dict):
            return None
        decode(definition(f"{_V2}HorizontalPodAutoscalerBehavior"), found)
    except (orjson.JSONDecodeError, Mismatch):
        return None
    return found or None


def _read(notes: Mapping[str, str], name: str, convert: Callable[[Any], Any], kind: str) -> list[JSONObject] | None:
    try:
        found = orjson.loads(notes.get(name, "null"))
        if not isinstance(found, list):
            return None
        made = [convert(item) for item in found]
        for item in made:
            decode(definition(_V2 + kind), item)
    except (orjson.JSONDecodeError, Mismatch):
        return None
    return made


def _go(name: str) -> str:
    return name[0].upper() + name[1:]


def _go_rules(rules: JSONObject | None) -> JSONObject | None:
    if rules is None:
        return None
    made: JSONObject = {_go(name): rules.get(name) for name in _RULES}
    if made["Policies"] is not None:
        made["Policies"] = [{_go(name): policy.get(name) for name in _POLICY} for policy in made["Policies"]]
    return made


def _camel(value: Any) -> Any:
    """Decoded JSON with names as the API spells them."""
    if isinstance(value, dict):
        return {_SPELLED.get(key.lower(), key): _camel(item) for key, item in value.items()}
    return [_camel(item) for item in value] if isinstance(value, list) else value


_SPELLED = {name.lower(): name for name in ("scaleUp", "scaleDown", *_RULES, *_POLICY)}
