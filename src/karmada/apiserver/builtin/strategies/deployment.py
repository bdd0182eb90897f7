"""Rules of Deployments."""

from typing import Any

from karmada.api.field_errors import forbidden, invalid
from karmada.apiserver.builtin.strategies import statuses
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    at_most_all,
    count_or_percent,
    immutable,
    is_zero,
    non_negative,
    strategy,
    template_selector,
    unsupported,
)
from karmada.apiserver.builtin.strategies.pod_validation import always_restarts, template_errors
from karmada.apiserver.builtin.strategies.pod_warnings import of_template
from karmada.apiserver.builtin.strategies.pods import default_template


def _default(obj: JSONObject) -> None:
    spec = obj["spec"]
    default_template(spec["template"])
    spec.setdefault("replicas", 1)
    update = spec["strategy"]
    update.setdefault("type", "RollingUpdate")
    if update["type"] == "RollingUpdate":
        rolling = update.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    template = spec["template"]
    labels = (template.get("metadata") or {}).get("labels")
    errors = non_negative("spec.replicas", spec.get("replicas"))
    errors += template_selector(
        spec.get("selector"), labels, "spec.selector", "spec.template.metadata.labels", "deployment"
    )
    errors += template_errors(template, "spec.template", old["spec"]["template"] if old else None)
    errors += always_restarts(template["spec"], "spec.template.spec", "Deployment")
    errors += _strategy(spec["strategy"])
    errors += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        errors += non_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= (spec.get("minReadySeconds") or 0):
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    if old is not None:
        errors += immutable("spec.selector", spec.get("selector"), old["spec"].get("selector"))
    return errors


def _strategy(update: JSONObject) -> Errors:
    path = "spec.strategy"
    if update["type"] == "Recreate":
        if "rollingUpdate" in update:
            text = "may not be specified when strategy `type` is 'Recreate'"
            return [forbidden(f"{path}.rollingUpdate", text)]
        return []
    if update["type"] != "RollingUpdate":
        shown = {"Type": update["type"], "RollingUpdate": update.get("rollingUpdate")}
        return [unsupported(path, shown, ("Recreate", "RollingUpdate"))]
    return rolling_update(update.get("rollingUpdate") or {}, f"{path}.rollingUpdate")


def rolling_update(rolling: JSONObject, path: str) -> Errors:
    """Parameters of a rolling update that needs some room to move."""
    unavailable: Any = rolling.get("maxUnavailable")
    surge: Any = rolling.get("maxSurge")
    errors = count_or_percent(f"{path}.maxUnavailable", unavailable) if unavailable is not None else []
    errors += count_or_percent(f"{path}.maxSurge", surge) if surge is not None else []
    if not errors and is_zero(unavailable) and is_zero(surge):
        errors.append(invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return errors + at_most_all(f"{path}.maxUnavailable", unavailable)


STRATEGY = strategy(
    _default,
    _validate,
    generation=True,
    validate_status=statuses.DEPLOYMENT,
    warnings=of_template("spec", "template", named=True),
)
