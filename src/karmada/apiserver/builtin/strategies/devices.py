"""Rules that device classes, claims and slices share, and those of DeviceClasses."""

import re
from collections.abc import Collection
from typing import Any

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, duplicate, invalid, required
from karmada.apiserver import cel
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, dns_label, dns_subdomain, strategy
from karmada.apiserver.builtin.strategies.compute_resources import is_extended
from karmada.apiserver.schema.metadata import in_characters

MOST = 32
"""Selectors, configurations, requests or constraints in one place."""
_LONGEST_DRIVER = _LONGEST_DOMAIN = 63
_LONGEST_NAME = 32
_LONGEST_POOL = 253
_LONGEST_EXPRESSION = 10 * 1024
_UNKNOWN = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER_RULE = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)


def too_many(field: str, items: Collection[Any], most: int = MOST) -> Errors:
    """No more than so many items."""
    text = f"Too many: {len(items)}: must have at most {most} items"
    return [FieldError("FieldValueTooMany", field, text)] if len(items) > most else []


def too_long(field: str, text: str, longest: int) -> Errors:
    """No more than so many bytes."""
    problem = f"Too long: may not be more than {longest} bytes"
    return [FieldError("FieldValueTooLong", field, problem)] if len(text.encode()) > longest else []


def driver(field: str, name: str) -> Errors:
    """The name of a driver: a DNS name, in whatever case."""
    if not name:
        return [required(field)]
    return too_long(field, name, _LONGEST_DRIVER) + _domain(field, name)


def _domain(field: str, name: str) -> Errors:
    """A DNS name in whatever case."""
    problems = in_characters(name_rules.dns_subdomain(name.lower()))
    return [invalid(field, name, problem) for problem in problems]


def qualified(field: str, name: str) -> Errors:
    """The name of an attribute or a capacity: an identifier, after a domain and a slash if it is not the driver's."""
    if name.count("/") > 1:
        return []  # as in the reference
    domain, slash, identifier = name.rpartition("/")
    errors: Errors = []
    if slash:
        if not domain:
            errors.append(invalid(field, domain, "the domain must not be empty"))
        else:
            errors += too_long(field, domain, _LONGEST_DOMAIN) + _domain(field, domain)
        if not identifier:
            return [*errors, invalid(field, identifier, "the name must not be empty")]
    errors += too_long(field, identifier, _LONGEST_NAME)
    if not _IDENTIFIER.fullmatch(identifier):
        errors.append(invalid(field, identifier, _IDENTIFIER_RULE))
    return errors


def fully_qualified(field: str, name: str) -> Errors:
    """The same with a domain in any case."""
    errors = qualified(field, name)
    if "/" not in name:
        errors.append(invalid(field, name, "a fully qualified name must be a domain and a name separated by a slash"))
    return errors


def selectors(field: str, given: list[JSONObject]) -> Errors:
    """Expressions that say yes or no to a device."""
    errors = too_many(field, given)
    for index, selector in enumerate(given[:MOST]):
        if selector.get("cel") is None:
            errors.append(required(f"{field}[{index}].cel"))
        else:
            errors += _expression(f"{field}[{index}].cel.expression", selector["cel"].get("expression") or "")
    return errors


def _expression(field: str, expression: str) -> Errors:
    if errors := too_long(field, expression, _LONGEST_EXPRESSION):
        return errors
    try:
        program = cel.compile(expression, {"device": cel.DYN})
    except cel.CompileError as error:
        return [invalid(field, expression, f"compilation failed: {error}")]
    if program.returns in ("bool", cel.DYN):
        return []
    kind = program.returns.replace("<", "(").replace(">", ")")
    return [invalid(field, expression, f"must evaluate to bool or the unknown type, not {kind}")]


def opaque(field: str, config: JSONObject) -> Errors:
    """Parameters that only a driver understands."""
    given = config.get("opaque")
    if given is None:
        return [required(f"{field}.opaque")]
    errors = driver(f"{field}.opaque.driver", given.get("driver") or "")
    parameters = given.get("parameters")
    if parameters is None:
        errors.append(required(f"{field}.opaque.parameters"))
    elif not isinstance(parameters, dict):
        errors.append(invalid(f"{field}.opaque.parameters", "<value omitted>", "must be a valid JSON object"))
    return errors


def pool_name(field: str, name: str) -> Errors:
    """The name of a pool: DNS names with slashes between them."""
    if not name:
        return [required(field)]
    errors = too_long(field, name, _LONGEST_POOL)
    for part in name.split("/"):
        errors += dns_subdomain(field, part)
    return errors


def request_names(requests: list[JSONObject]) -> set[str]:
    """How requests of a claim, and the choices they leave, are referred to."""
    names: set[str] = set()
    for request in requests:
        name = request.get("name") or ""
        names.add(name)
        names |= {f"{name}/{choice.get('name') or ''}" for choice in request.get("firstAvailable") or ()}
    return names


def references(given: list[str], field: str, names: set[str], indexed: bool = True) -> Errors:
    """Names of requests; without `indexed` there is one, at the field itself."""
    errors = too_many(field, given)
    seen: set[str] = set()
    for index, name in enumerate(given[:MOST]):
        place = f"{field}[{index}]" if indexed else field
        parts = name.split("/")
        for part in parts if len(parts) < 3 else ():
            errors += dns_label(place, part)
        if name not in names:
            errors.append(invalid(place, name, _UNKNOWN))
        errors += again(name, seen, place)
    return errors


def again(name: str, seen: set[str], field: str) -> Errors:
    """A complaint about a name that came before; `seen` learns it."""
    errors: Errors = [duplicate(field, name)] if name in seen else []
    seen.add(name)
    return errors


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = selectors("spec.selectors", spec.get("selectors") or [])
    configs = spec.get("config") or []
    errors += too_many("spec.config", configs)
    for index, config in enumerate(configs[:MOST]):
        errors += opaque(f"spec.config[{index}]", config)
    resource = spec.get("extendedResourceName")
    if resource is not None and not is_extended(resource):
        errors.append(invalid("spec.extendedResourceName", resource, "must be a valid extended resource name"))
    return errors


DEVICE_CLASS = strategy(validate=_validate, namespaced=False, generation=True)
