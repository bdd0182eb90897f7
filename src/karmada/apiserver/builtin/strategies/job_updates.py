"""Rules of updates of Jobs: what their pods are made from is fixed, but for jobs that are suspended."""

from karmada.api.field_errors import invalid, required
from karmada.apiserver.builtin.strategies.common import IMMUTABLE, Errors, JSONObject, immutable, matches, selector
from karmada.apiserver.builtin.strategies.internal_form import pod_spec, pod_template

_UID, _NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def generated_selector_errors(job: JSONObject, old: JSONObject) -> Errors:
    """Unless the user selects by hand, selector and labels are those of the job itself."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    own = {"controller-uid": uid, "job-name": name}
    before = old["spec"]["template"]["metadata"].get("labels") or {}
    if _UID in before and _NAME in before:
        own |= {_UID: uid, _NAME: name}
    labels = spec["template"]["metadata"].get("labels") or {}
    errors: Errors = []
    for key, value in own.items():
        place = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            errors.append(required(place, f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(invalid(place, labels, f"must be '{value}'"))
    if not selector("", spec["selector"]) and not matches(spec["selector"], own):
        errors.append(invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    return errors


def update_errors(spec: JSONObject, old: JSONObject) -> Errors:
    """What of a change of a job's spec is not allowed."""
    before = old["spec"]
    errors = _completions(spec, before)
    errors += immutable("spec.selector", spec.get("selector"), before.get("selector"))
    errors += _template(spec["template"], before["template"], old)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        errors += immutable(f"spec.{field}", spec.get(field), before.get(field))
    return errors


def _completions(spec: JSONObject, before: JSONObject) -> Errors:
    """Indexed jobs may be scaled together with their parallelism."""
    new, field = spec.get("completions"), "spec.completions"
    if spec.get("completionMode") != "Indexed":
        return immutable(field, new, before.get("completions"))
    if new is None or new == before.get("completions") or new == spec.get("parallelism"):
        return []
    return [invalid(field, new, "can only be modified in tandem with spec.parallelism")]


def _template(template: JSONObject, before: JSONObject, old: JSONObject) -> Errors:
    status = old.get("status") or {}
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    suspended = old["spec"].get("suspend") is True
    idle = not status.get("startTime") or conditions.get("Suspended") == "True"
    if not (suspended and idle and not status.get("active")):
        if template == before:
            return []
        return [invalid("spec.template", pod_template(template), IMMUTABLE)]
    kept = _with_scheduling_of(before["spec"], template["spec"])
    for field in ("containers", "initContainers"):
        kept = _with_resources_of(kept, template["spec"], field)
    if kept == template["spec"]:
        return []
    return [invalid("spec.template.spec", pod_spec(template["spec"]), IMMUTABLE)]


def _with_scheduling_of(spec: JSONObject, new: JSONObject) -> JSONObject:
    """A pod spec with the scheduling directives of another: those of a job that does not run may change."""
    result = {key: value for key, value in spec.items() if key not in (*_SCHEDULING, "affinity")}
    result |= {key: new[key] for key in _SCHEDULING if key in new}
    affinity = {key: value for key, value in (spec.get("affinity") or {}).items() if key != "nodeAffinity"}
    if (wanted := (new.get("affinity") or {}).get("nodeAffinity")) is not None:
        affinity["nodeAffinity"] = wanted
    if affinity or "affinity" in new:
        result["affinity"] = affinity
    return result


def _with_resources_of(spec: JSONObject, new: JSONObject, field: str) -> JSONObject:
    containers, wanted = spec.get(field) or [], new.get(field) or []
    if len(containers) != len(wanted):
        return spec
    changed = []
    for container, other in zip(containers, wanted, strict=True):
        if container.get("name") == other.get("name"):
            container = {key: value for key, value in container.items() if key != "resources"}
            container |= {"resources": other["resources"]} if "resources" in other else {}
        changed.append(container)
    return {**spec, field: changed} if changed else spec
