"""Rules of ResourceSlices: the devices that a driver has, and on which nodes."""

import re

from karmada.api import name_rules
from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    immutable,
    one_of,
    qualified_name,
    strategy,
)
from karmada.apiserver.builtin.strategies.devices import driver, pool_name, qualified, too_long, too_many
from karmada.apiserver.selectable import fields

_MOST_DEVICES = 128
_MOST_PROPERTIES = 32
_MOST_CONDITIONS = 4
_LONGEST_VALUE = 64
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_PLACE = f"exactly one of {', '.join(f'`{place}`' for place in _PLACES)} is required"
_PER_DEVICE = "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
_KINDS = {"int": "IntValue", "bool": "BoolValue", "string": "StringValue", "version": "VersionValue"}
_NUMBER = r"(?:0|[1-9]\d*)"
_EARLY = rf"(?:{_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = "[0-9A-Za-z-]+"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_EARLY}(?:\.{_EARLY})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?", re.ASCII
)
"""Versions of semver.org: numbers have no leading zeros, and no part is empty."""


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = driver("spec.driver", spec.get("driver") or "")
    errors += _pool(spec.get("pool") or {}) + _nodes(spec)
    devices, counters = spec.get("devices") or [], spec.get("sharedCounters") or []
    if devices and counters:
        errors.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    errors += too_many("spec.devices", devices, _MOST_DEVICES)
    seen: set[str] = set()
    for index, device in enumerate(devices[:_MOST_DEVICES]):
        errors += _device(device, f"spec.devices[{index}]", bool(spec.get("perDeviceNodeSelection")))
        name = device.get("name") or ""
        if name in seen:
            errors.append(duplicate(f"spec.devices[{index}]", name))
        seen.add(name)
    for index, shared in enumerate(counters):
        errors += _counters(shared, f"spec.sharedCounters[{index}]", "name")
    return errors + _kept(spec, old["spec"]) if old is not None else errors


def _kept(spec: JSONObject, old: JSONObject) -> Errors:
    """What a slice keeps for its life."""
    errors = immutable("spec.driver", spec.get("driver"), old.get("driver"))
    errors += immutable("spec.pool.name", spec["pool"].get("name"), old["pool"].get("name"))
    return errors + immutable("spec.nodeName", spec.get("nodeName"), old.get("nodeName"))


def _pool(pool: JSONObject) -> Errors:
    name, count, generation = pool.get("name") or "", pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    errors = pool_name("spec.pool.name", name)
    if count <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        errors.append(invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return errors


def _nodes(spec: JSONObject) -> Errors:
    """The nodes that have the devices, said in one of four ways."""
    errors: Errors = []
    name, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if name == "":
        errors.append(invalid("spec.nodeName", name, "must be either unset or set to a non-empty string"))
    elif name is not None:
        errors += dns_subdomain("spec.nodeName", name)
    if selector is not None:
        terms = selector.get("nodeSelectorTerms") or []
        field = "spec.nodeSelector.nodeSelectorTerms"
        if not terms:
            errors.append(required(field, "must have at least one node selector term"))
        if len(terms) != 1:
            errors.append(invalid(field, terms, "must have exactly one node selector term"))
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field) is False:
            errors.append(invalid(f"spec.{field}", False, "must be either unset or set to true"))
    given = [field for field in _PLACES if spec.get(field) or (field == "nodeSelector" and selector is not None)]
    if not given:
        errors.append(required("spec", _ONE_PLACE))
    elif len(given) > 1:
        shown = "{" + ", ".join(f"`{field}`" for field in given) + "}"
        errors.append(invalid("spec", shown, f"{_ONE_PLACE}, but multiple fields are set"))
    return errors


def _binding(device: JSONObject, path: str) -> Errors:
    """Conditions that a pod waits for, and those that end the wait: neither comes without the other."""
    errors: Errors = []
    names = ("bindingConditions", "bindingFailureConditions")
    for field, other in (names, names[::-1]):
        given = device.get(field) or []
        errors += too_many(f"{path}.{field}", given, _MOST_CONDITIONS)
        for index, condition in enumerate(given[:_MOST_CONDITIONS]):
            errors += qualified_name(f"{path}.{field}[{index}]", condition)
        if given and not device.get(other):
            errors.append(invalid(f"{path}.{other}", None, f"{other} are required to use {field}"))
    return errors


def _device(device: JSONObject, path: str, per_device: bool) -> Errors:
    errors = dns_label(f"{path}.name", device.get("name") or "")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if len(attributes) + len(capacity) > _MOST_PROPERTIES:
        text = f"the total number of attributes and capacities must not exceed {_MOST_PROPERTIES}"
        errors.append(invalid(path, len(attributes) + len(capacity), text))
    for name, value in attributes.items():
        errors += qualified(f"{path}.attributes", name) + _attribute(value, f"{path}.attributes[{name}]")
    for name in capacity:
        errors += qualified(f"{path}.capacity", name)
    for index, taint in enumerate(device.get("taints") or ()):
        errors += _taint(taint, f"{path}.taints[{index}]")
    errors += _binding(device, path)
    placed = any(device.get(field) is not None for field in _PLACES[:3])
    if per_device and not placed:
        text = f"exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when {_PER_DEVICE}"
        errors.append(required(path, text))
    if placed and not per_device:
        text = f"`nodeName`, `nodeSelector` and `allNodes` can only be set if {_PER_DEVICE}"
        errors.append(invalid(path, None, text))
    for index, used in enumerate(device.get("consumesCounters") or ()):
        errors += _counters(used, f"{path}.consumesCounters[{index}]", "counterSet")
    return errors


def _attribute(value: JSONObject, path: str) -> Errors:
    given = [kind for kind in _KINDS if value.get(kind) is not None]
    if not given:
        return [invalid(path, "", "exactly one value must be specified")]
    if len(given) > 1:
        shown = {name: value.get(kind) for kind, name in _KINDS.items()}
        shown |= {f"{name}s": None for name in _KINDS.values()}
        return [invalid(path, shown, "exactly one value must be specified")]
    [kind] = given
    if kind not in ("string", "version"):
        return []
    errors = too_long(f"{path}.{kind}", value[kind], _LONGEST_VALUE)
    if kind == "version" and not _SEMVER.fullmatch(value[kind]):
        text = "must be a string compatible with semver.org spec 2.0.0"
        errors.append(invalid(f"{path}.version", value[kind], text))
    return errors


def _taint(taint: JSONObject, path: str) -> Errors:
    errors = qualified_name(f"{path}.key", taint.get("key") or "")
    value, effect = taint.get("value") or "", taint.get("effect") or ""
    errors += [invalid(f"{path}.value", value, problem) for problem in name_rules.label_value(value)]
    if not effect:
        return [*errors, required(f"{path}.effect")]
    return errors + one_of(f"{path}.effect", effect, ("NoExecute", "NoSchedule", "None"))


def _counters(counters: JSONObject, path: str, field: str) -> Errors:
    name = counters.get(field) or ""
    errors = dns_label(f"{path}.{field}", name) if name else [required(f"{path}.{field}")]
    return errors if counters.get("counters") else [*errors, required(f"{path}.counters")]


RESOURCE_SLICE = strategy(
    validate=_validate, namespaced=False, generation=True, selectable=fields("spec.nodeName", "spec.driver")
)
