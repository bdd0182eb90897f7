"""Rules of ResourceClaims and of templates for them: which devices are asked for, and how they belong together."""

from karmada.api import name_rules
from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies import internal_form
from karmada.apiserver.builtin.strategies.common import (
    IMMUTABLE,
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    one_of,
    qualified_name,
    strategy,
)
from karmada.apiserver.builtin.strategies.device_statuses import prepare_claim_status, validate_claim_status
from karmada.apiserver.builtin.strategies.devices import (
    MOST,
    again,
    fully_qualified,
    opaque,
    references,
    request_names,
    selectors,
    too_many,
)
from karmada.apiserver.schema.metadata import annotations, labels

_MOST_CHOICES = 8
_ONE = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'


def _default_devices(spec: JSONObject) -> None:
    """Requests for devices ask for one unless they say otherwise."""
    for request in (spec.get("devices") or {}).get("requests") or ():
        for wanted in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if wanted is not None:
                mode = wanted.setdefault("allocationMode", "ExactCount")
                if mode == "ExactCount":
                    wanted["count"] = wanted.get("count") or 1
                for toleration in wanted.get("tolerations") or ():
                    toleration.setdefault("operator", "Equal")


def _claim(spec: JSONObject, path: str) -> Errors:
    devices = spec.get("devices") or {}
    path = f"{path}.devices"
    requests, names = devices.get("requests") or [], request_names(devices.get("requests") or [])
    errors = too_many(f"{path}.requests", requests)
    seen: set[str] = set()
    for index, request in enumerate(requests[:MOST]):
        errors += _request(request, f"{path}.requests[{index}]")
        errors += again(request.get("name") or "", seen, f"{path}.requests[{index}]")
    constraints = devices.get("constraints") or []
    errors += too_many(f"{path}.constraints", constraints)
    for index, constraint in enumerate(constraints[:MOST]):
        errors += _constraint(constraint, f"{path}.constraints[{index}]", names)
    configs = devices.get("config") or []
    errors += too_many(f"{path}.config", configs)
    for index, config in enumerate(configs[:MOST]):
        errors += references(config.get("requests") or [], f"{path}.config[{index}].requests", names)
        errors += opaque(f"{path}.config[{index}]", config)
    return errors


def _request(request: JSONObject, path: str) -> Errors:
    errors = dns_label(f"{path}.name", request.get("name") or "")
    exact, choices = request.get("exactly"), request.get("firstAvailable") or []
    if exact is not None and choices:
        return [*errors, invalid(path, None, f"{_ONE}, but multiple fields are set")]
    if exact is None and not choices:
        return [*errors, required(path, _ONE)]
    if exact is not None:
        return errors + _wanted(exact, f"{path}.exactly")
    errors += too_many(f"{path}.firstAvailable", choices, _MOST_CHOICES)
    seen: set[str] = set()
    for index, choice in enumerate(choices[:_MOST_CHOICES]):
        place = f"{path}.firstAvailable[{index}]"
        errors += dns_label(f"{place}.name", choice.get("name") or "") + _wanted(choice, place)
        errors += again(choice.get("name") or "", seen, place)
    return errors


def _wanted(wanted: JSONObject, path: str) -> Errors:
    """Which devices, and how many."""
    name = wanted.get("deviceClassName") or ""
    errors = dns_subdomain(f"{path}.deviceClassName", name) if name else [required(f"{path}.deviceClassName")]
    errors += selectors(f"{path}.selectors", wanted.get("selectors") or [])
    mode, count = wanted.get("allocationMode") or "", wanted.get("count") or 0
    if mode == "All" and count:
        errors.append(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount" and count <= 0:
        errors.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        errors += one_of(f"{path}.allocationMode", mode, ("All", "ExactCount"))
    for index, toleration in enumerate(wanted.get("tolerations") or ()):
        errors += _toleration(toleration, f"{path}.tolerations[{index}]")
    return errors


def _toleration(toleration: JSONObject, path: str) -> Errors:
    key, effect, value = (toleration.get(field) or "" for field in ("key", "effect", "value"))
    operator = toleration["operator"]
    errors = qualified_name(f"{path}.key", key) if key else []
    errors += one_of(f"{path}.operator", operator, ("Equal", "Exists"))
    if operator == "Equal":
        errors += [invalid(f"{path}.value", value, problem) for problem in name_rules.label_value(value)]
    elif operator == "Exists" and value:
        errors.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    return errors + (one_of(f"{path}.effect", effect, ("NoExecute", "NoSchedule", "None")) if effect else [])


def _constraint(constraint: JSONObject, path: str, names: set[str]) -> Errors:
    errors = references(constraint.get("requests") or [], f"{path}.requests", names)
    fields = [field for field in ("matchAttribute", "distinctAttribute") if constraint.get(field) is not None]
    if not fields:
        errors.append(required(path, _ONE_ATTRIBUTE))
    for field in fields:
        errors += fully_qualified(f"{path}.{field}", constraint[field])
    return errors


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    if old is not None:
        same = obj["spec"] == old["spec"]
        return [] if same else [invalid("spec", internal_form.device_claim(obj["spec"]), IMMUTABLE)]
    return _claim(obj["spec"], "spec")


def _validate_template(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    metadata = spec.get("metadata") or {}
    errors = labels(metadata.get("labels"), "spec.metadata.labels")
    errors += annotations(metadata.get("annotations"), "spec.metadata.annotations")
    errors += [
        forbidden(f"spec.metadata.{field}", "cannot be set")
        for field in metadata
        if field not in ("labels", "annotations") and metadata[field]
    ]
    errors += _claim(spec["spec"], "spec.spec")
    if old is not None and spec != old["spec"]:
        shown = {**metadata, "Spec": internal_form.device_claim(spec["spec"])}
        errors.append(invalid("spec", shown, IMMUTABLE))
    return errors


RESOURCE_CLAIM = strategy(
    lambda obj: _default_devices(obj["spec"]),
    _validate,
    prepare_status=prepare_claim_status,
    validate_status=validate_claim_status,
)
RESOURCE_CLAIM_TEMPLATE = strategy(lambda obj: _default_devices(obj["spec"]["spec"]), _validate_template)
