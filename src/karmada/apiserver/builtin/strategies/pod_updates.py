"""Rules of updates of Pods: nearly everything of a pod is fixed once it exists."""

from typing import Any

from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject
from karmada.apiserver.builtin.strategies.internal_form import difference, pod_spec

_CHANGEABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MIRROR = "kubernetes.io/config.mirror"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_LONGEST = 2**31 - 1


def annotation_errors(pod: JSONObject, old: JSONObject) -> Errors:
    """Annotations that say what a pod is, not what is said of it, stay."""
    new, before = (one["metadata"].get("annotations") or {} for one in (pod, old))
    errors: Errors = []
    for key in sorted({*new, *before}):
        what = (
            "AppArmor annotations" if key.startswith(_APP_ARMOR) else "mirror pod annotation" if key == _MIRROR else ""
        )
        if what and new.get(key) != before.get(key):
            change = "remove or update" if key in before else "add"
            errors.append(forbidden(f"metadata.annotations[{key}]", f"may not {change} {what}"))
    return errors + unplaced_mirror(pod)


def unplaced_mirror(pod: JSONObject) -> Errors:
    """A mirror of a static pod is on a node."""
    value = (pod["metadata"].get("annotations") or {}).get(_MIRROR)
    if value is None or pod["spec"].get("nodeName"):
        return []
    text = "must set spec.nodeName if mirror pod annotation is set"
    return [invalid(f"metadata.annotations[{_MIRROR}]", value, text)]


def update_errors(spec: JSONObject, old: JSONObject) -> Errors:
    """What of a change of a pod's spec is not allowed."""
    errors: Errors = []
    for field in ("containers", "initContainers"):
        new = spec.get(field) or []
        if len(new) != len(old.get(field) or ()):
            return [*errors, forbidden(f"spec.{field}", "pod updates may not add or remove containers")]
        errors += _images(new, f"spec.{field}")
    deadline = _deadline(spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    errors += deadline
    if deadline and spec.get("activeDeadlineSeconds") is not None:
        return errors
    errors += _tolerations(spec.get("tolerations") or [], old.get("tolerations") or [])
    errors += _gates(spec.get("schedulingGates") or [], old.get("schedulingGates") or [])
    if spec == old:
        return errors
    wanted = _without_allowed_changes(spec, old)
    if old.get("schedulingGates"):
        errors += _placement(wanted, old)
    if wanted != old:
        errors.append(forbidden("spec", f"{_CHANGEABLE}\n{difference(pod_spec(old), pod_spec(wanted))}"))
    return errors


def _images(containers: list[JSONObject], path: str) -> Errors:
    errors: Errors = []
    for index, container in enumerate(containers):
        image = container.get("image") or ""
        if not image:
            errors.append(required(f"{path}[{index}].image"))
        if image != image.strip():
            errors.append(invalid(f"{path}[{index}].image", image, "must not have leading or trailing whitespace"))
    return errors


def _deadline(new: int | None, old: int | None) -> Errors:
    """A deadline may be set, and come nearer."""
    field = "spec.activeDeadlineSeconds"
    if new is None:
        return [] if old is None else [invalid(field, None, "must not update from a positive integer to nil value")]
    if not 0 <= new <= _LONGEST:
        return [invalid(field, new, f"must be between 0 and {_LONGEST}, inclusive")]
    if old is not None and old < new:
        return [invalid(field, new, "must be less than or equal to previous value")]
    return []


def _tolerations(new: list[JSONObject], old: list[JSONObject]) -> Errors:
    def bare(tolerations: list[JSONObject]) -> set[frozenset[tuple[str, Any]]]:
        return {frozenset(pair for pair in one.items() if pair[0] != "tolerationSeconds") for one in tolerations}

    if bare(old) <= bare(new):
        return []
    return [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]


def _gates(new: list[JSONObject], old: list[JSONObject]) -> Errors:
    known = {gate.get("name") for gate in old}
    text = "only deletion is allowed, but found new scheduling gate"
    return [
        forbidden(f"spec.schedulingGates[{index}].name", f"{text} '{gate.get('name')}'")
        for index, gate in enumerate(new)
        if gate.get("name") not in known
    ]


def _without_allowed_changes(spec: JSONObject, old: JSONObject) -> JSONObject:
    """The new spec as it would be without the changes that are allowed."""
    result = {**spec}
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _restore(result, old, field)
    for field in ("containers", "initContainers"):
        if spec.get(field):
            pairs = zip(spec[field], old[field], strict=True)
            result[field] = [_with_image(new, before.get("image")) for new, before in pairs]
    field = "terminationGracePeriodSeconds"
    if (old.get(field) or 0) < 0 and spec.get(field) == 1:
        _restore(result, old, field)
    return result


def _with_image(container: JSONObject, image: Any) -> JSONObject:
    rest = {key: value for key, value in container.items() if key != "image"}
    return rest if image is None else {**rest, "image": image}


def _restore(spec: JSONObject, old: JSONObject, field: str) -> None:
    if field in old:
        spec[field] = old[field]
    else:
        spec.pop(field, None)


def _placement(spec: JSONObject, old: JSONObject) -> Errors:
    """While a pod is held back by gates, the choice of nodes may become narrower; takes such changes out of `spec`."""
    errors: Errors = []
    selector, before = spec.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in before.items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(invalid("spec.nodeSelector", spec.get("nodeSelector"), text))
    _restore(spec, old, "nodeSelector")
    affinity, known = spec.get("affinity") or {}, old.get("affinity") or {}
    if affinity.get("nodeAffinity") != known.get("nodeAffinity"):
        errors += _narrower(affinity.get("nodeAffinity") or {}, known.get("nodeAffinity") or {})
        kept = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
        if known.get("nodeAffinity") is not None:
            kept["nodeAffinity"] = known["nodeAffinity"]
        if kept or "affinity" in old:
            spec["affinity"] = kept
        else:
            spec.pop("affinity", None)
    return errors


def _narrower(new: JSONObject, old: JSONObject) -> Errors:
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    path = f"spec.affinity.nodeAffinity.{field}.nodeSelectorTerms"
    before = (old.get(field) or {}).get("nodeSelectorTerms") or []
    after = (new.get(field) or {}).get("nodeSelectorTerms") or []
    if not before:
        return []
    if len(before) != len(after):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(path, after or None, text)]
    return [
        invalid(f"{path}[{index}]", after[index], "only additions are allowed (no mutations or deletions)")
        for index, term in enumerate(before)
        if not _only_adds(after[index], term)
    ]


def _only_adds(new: JSONObject, old: JSONObject) -> bool:
    lists = [(new.get(field) or [], old.get(field) or []) for field in ("matchExpressions", "matchFields")]
    if not any(before for _, before in lists):
        return not any(after for after, _ in lists)
    return all(after[: len(before)] == before for after, before in lists)
