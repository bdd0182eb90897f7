"""Rules of Namespaces, Nodes and Leases."""

import re

from karmada.api import name_rules
from karmada.api.field_errors import duplicate, forbidden, invalid, quoted, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    cidr,
    positive,
    qualified_name,
    strategy,
    unsupported,
)
from karmada.apiserver.selectable import ValueAt, fields

_NAME_LABEL = "kubernetes.io/metadata.name"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _default_namespace(obj: JSONObject) -> None:
    if obj["metadata"].get("name"):
        _label_namespace(obj)
    obj["status"].setdefault("phase", "Active")


def _create_namespace(obj: JSONObject) -> None:
    finalizers = obj["spec"].get("finalizers") or []
    obj["spec"]["finalizers"] = finalizers if "kubernetes" in finalizers else [*finalizers, "kubernetes"]
    obj["status"] = {"phase": "Active"}
    _label_namespace(obj)


def _label_namespace(obj: JSONObject) -> None:
    metadata = obj["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), _NAME_LABEL: metadata.get("name") or ""}


def _update_namespace(obj: JSONObject, old: JSONObject) -> None:
    obj["spec"] = {**obj["spec"], **({"finalizers": f} if (f := old["spec"].get("finalizers")) else {})}
    _label_namespace(obj)


def _validate_namespace(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors: Errors = []
    for finalizer in obj["spec"].get("finalizers") or ():
        problems = qualified_name("spec.finalizers", finalizer)
        if not problems and "/" not in finalizer and finalizer != "kubernetes":
            text = "name is neither a standard finalizer name nor is it fully qualified"
            problems = [invalid("spec.finalizers", finalizer, text)]
        errors += problems
    return errors


def _validate_namespace_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    ending = bool(obj["metadata"].get("deletionTimestamp"))
    phase, wanted = obj["status"].get("phase"), "Terminating" if ending else "Active"
    if phase == wanted:
        return []
    text = f"may only be '{wanted}' if `deletionTimestamp` is {'not ' if ending else ''}empty"
    return [invalid("status.Phase", phase or "", text)]


def _default_node(obj: JSONObject) -> None:
    spec = obj["spec"]
    spec.pop("configSource", None)  # of a feature that is gone
    obj["status"].pop("config", None)
    if spec.get("podCIDR") and (spec.get("podCIDRs") or [""])[0] != spec["podCIDR"]:
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif not spec.get("podCIDR") and (first := next(iter(spec.get("podCIDRs") or ()), "")):
        spec["podCIDR"] = first
    status = obj["status"]
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = {**status["capacity"]}


def _validate_node(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors: Errors = []
    spec = obj["spec"]
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.get("taints") or ()):
        place = f"metadata.taints[{index}]"
        errors += qualified_name(f"{place}.key", taint.get("key") or "")
        value = taint.get("value") or ""
        errors += [invalid(f"{place}.value", value, problem) for problem in name_rules.label_value(value)]
        effect = taint.get("effect") or ""
        if not effect:
            errors.append(required(f"{place}.effect"))
        elif effect not in _EFFECTS:
            errors.append(unsupported(f"{place}.effect", effect, _EFFECTS))
        key = (taint.get("key") or "", effect)
        if key in seen:
            shown = {"Key": key[0], "Value": taint.get("value") or "", "Effect": effect}
            shown["TimeAdded"] = taint.get("timeAdded")
            again = duplicate(place, shown)
            text = f"{again.message}: taints must be unique by key and effect pair"
            errors.append(again._replace(message=text))
        seen.add(key)
    taints, networks = errors, spec.get("podCIDRs") or []
    for index, network in enumerate(networks):
        errors = errors + cidr(f"spec.podCIDRs[{index}]", network)
    families = {":" in network for network in networks}
    if len(networks) > 1 and (len(families) < 2 or len(networks) > 2):
        text = "may specify no more than one CIDR for each IP family"
        errors = [*errors, invalid("spec.podCIDRs", networks, text)]
    errors = errors + _declared_features(obj)
    if old is not None:
        errors = errors + taints  # Once more by the rules of changes.
        before = old["spec"]
        if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
            errors.append(forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'))
        if spec.get("externalID") != before.get("externalID"):
            errors.append(forbidden("spec.externalID", "may not be updated"))
        if before.get("providerID") and spec.get("providerID") != before["providerID"]:
            text = 'node updates may not change providerID except from "" to valid'
            errors.append(forbidden("spec.providerID", text))
    return errors


_FEATURE = re.compile(r"[A-Z][A-Za-z0-9]*(/[A-Za-z][A-Za-z0-9]*)*")
_NO_FEATURE = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
    "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def _declared_features(obj: JSONObject) -> Errors:
    errors: Errors = []
    names = obj["status"].get("declaredFeatures") or []
    for index, name in enumerate(names):
        place = f"status.declaredFeatures[{index}]"
        if index and name < names[index - 1]:
            errors.append(invalid(place, name, "list must be sorted alphabetically"))
        elif index and name == names[index - 1]:
            errors.append(duplicate(place, name))
        if not _FEATURE.fullmatch(name):
            errors.append(invalid(place, name, f"invalid feature name {quoted(name)}: {_NO_FEATURE}"))
    return errors


_UNSERVED = ("strategy", "preferredHolder")
"""Of coordinated leader election, which is no stable part of the API."""


def _create_lease(obj: JSONObject) -> None:
    for field in _UNSERVED:
        obj["spec"].pop(field, None)


def _update_lease(obj: JSONObject, old: JSONObject) -> None:
    _create_lease(obj)


def _validate_lease(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = positive("spec.leaseDurationSeconds", spec.get("leaseDurationSeconds"))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    return errors


NAMESPACE = strategy(
    _default_namespace,
    validate=_validate_namespace,
    name=name_rules.dns_label,
    namespaced=False,
    prepare_create=_create_namespace,
    prepare_update=_update_namespace,
    validate_status=_validate_namespace_status,
    selectable=fields("status.phase"),
)


def _validate_node_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    return _declared_features(obj)


def _node_warnings(obj: JSONObject, old: JSONObject | None) -> list[str]:
    if not obj["spec"].get("externalID"):
        return []
    return ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]


NODE = strategy(
    _default_node,
    _validate_node,
    validate_status=_validate_node_status,
    warnings=_node_warnings,
    namespaced=False,
    selectable={"spec.unschedulable": ValueAt("spec.unschedulable", "false")},
)
LEASE = strategy(
    validate=_validate_lease,
    prepare_create=_create_lease,
    prepare_update=_update_lease,
    create_on_update=True,
    unconditional_update=False,
)
