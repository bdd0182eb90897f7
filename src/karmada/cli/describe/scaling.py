"""How many replicas there are to be, and how many may be away at a time."""

from typing import Any

from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Related

JSONObject = dict[str, Any]


def autoscaler(page: Page, item: JSONObject, _: Related) -> None:
    """A HorizontalPodAutoscaler."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    target = spec["scaleTargetRef"]
    metadata.head(page, item)
    page.field(0, "CreationTimestamp", metadata.time(item["metadata"].get("creationTimestamp")))
    page.field(0, "Reference", f"{target['kind']}/{target['name']}")
    page.field(0, "Metrics", "( current / target )")
    seen = status.get("currentMetrics") or []
    for number, metric in enumerate(spec.get("metrics") or ()):
        _metric(page, metric, seen[number] if number < len(seen) else {})
    page.field(0, "Min replicas", spec.get("minReplicas", "<unset>"))
    page.field(0, "Max replicas", spec.get("maxReplicas", 0))
    if behaviour := spec.get("behavior"):
        page.line(0, "Behavior:")
        _direction(page, "Scale Up", behaviour.get("scaleUp"))
        _direction(page, "Scale Down", behaviour.get("scaleDown"))
    counts = f"{status.get('currentReplicas', 0)} current / {status.get('desiredReplicas', 0)} desired"
    page.field(0, f"{target['kind']} pods", counts)
    if found := status.get("conditions"):
        page.line(0, "Conditions:")
        rows = [[one.get(key, "") for key in ("type", "status", "reason", "message")] for one in found]
        page.table(1, ("Type", "Status", "Reason", "Message"), rows)


def _metric(page: Page, metric: JSONObject, seen: JSONObject) -> None:
    kind = metric["type"]
    key = kind[0].lower() + kind[1:]
    about = metric.get(key) or {}
    now, goal = (seen.get(key) or {}).get("current") or {}, about.get("target") or {}
    name = about.get("name") or f'"{(about.get("metric") or {}).get("name", "")}"'
    match kind:
        case "Resource" | "ContainerResource":
            where = f' of container "{about["container"]}"' if kind == "ContainerResource" else ""
            title = f"resource {name}{where} on pods"
            if "averageUtilization" in goal:
                used = (
                    f"{now['averageUtilization']}% ({now.get('averageValue', '')})"
                    if "averageUtilization" in now
                    else None
                )
                page.field(1, f"{title}  (as a percentage of request)", _pair(used, f"{goal['averageUtilization']}%"))
                return
        case "Object":
            what = about["describedObject"]
            title = f"{name} on {what['kind']}/{what['name']} (target {_word(goal)})"
        case "External":
            title = f"{name} (target {_word(goal)})"
        case _:
            title = f"{name} on pods"
    value = "averageValue" if "averageValue" in goal else "value"
    page.field(1, title, _pair(now.get(value), goal.get(value, "")))


def _word(goal: JSONObject) -> str:
    return "average value" if goal.get("type") == "AverageValue" else "value"


def _pair(now: object, goal: object) -> str:
    return f"{'<unknown>' if now is None else now} / {goal}"


def _direction(page: Page, title: str, rules: JSONObject | None) -> None:
    if not rules:
        return
    page.line(1, f"{title}:")
    if rules.get("stabilizationWindowSeconds") is not None:
        page.line(2, f"Stabilization Window: {rules['stabilizationWindowSeconds']} seconds")
    if rules.get("policies"):
        page.line(2, f"Select Policy: {rules.get('selectPolicy', 'Max')}")
        page.line(2, "Policies:")
        for one in rules["policies"]:
            page.line(3, f"- Type: {one['type']}", f"Value: {one['value']}", f"Period: {one['periodSeconds']} seconds")


def disruption_budget(page: Page, item: JSONObject, _: Related) -> None:
    """A PodDisruptionBudget."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    metadata.name(page, item)
    for title, key in (("Min available", "minAvailable"), ("Max unavailable", "maxUnavailable")):
        if key in spec:
            page.field(0, title, spec[key])
    page.field(0, "Selector", metadata.selector(spec["selector"]) if "selector" in spec else "<unset>")
    page.line(0, "Status:")
    for title, key in (
        ("Allowed disruptions", "disruptionsAllowed"),
        ("Current", "currentHealthy"),
        ("Desired", "desiredHealthy"),
        ("Total", "expectedPods"),
    ):
        page.field(2, title, status.get(key, 0))
