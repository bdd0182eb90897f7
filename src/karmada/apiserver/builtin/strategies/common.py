"""Pieces that the rules of many kinds share: how a strategy is put together, and checks of common values."""

import ipaddress
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from karmada.api import label_selector, name_rules
from karmada.api.caching import text_cache
from karmada.api.field_errors import FieldError, forbidden, invalid, quoted, required
from karmada.api.quantity import Quantity
from karmada.apiserver.resources import Strategy, same_but
from karmada.apiserver.schema.metadata import NameRule, in_characters, key_problems, labels, validate_metadata
from karmada.apiserver.selectable import Reader

JSONObject = dict[str, Any]
Errors = list[FieldError]
Validate = Callable[[JSONObject, JSONObject | None], Errors]
Change = Callable[[JSONObject], None]
Update = Callable[[JSONObject, JSONObject], None]

IMMUTABLE = "field is immutable"


def nothing(obj: JSONObject) -> None:
    """Change nothing."""


def keep(obj: JSONObject, old: JSONObject) -> None:
    """Take nothing over from the old object."""


def valid(obj: JSONObject, old: JSONObject | None) -> Errors:
    """No complaints."""
    return []


def strategy(
    default: Change = nothing,
    validate: Validate = valid,
    *,
    name: NameRule = name_rules.dns_subdomain,
    namespaced: bool = True,
    generation: bool = False,
    prepare_create: Change = nothing,
    prepare_update: Update = keep,
    prepare_status: Update = keep,
    validate_status: Validate = valid,
    unconditional_update: bool = True,
    create_on_update: bool = False,
    create_by_status: bool = False,
    graceful_seconds: Callable[[JSONObject], int] | None = None,
    selectable: Mapping[str, Reader] | None = None,
    selected_as: Mapping[str, str] | None = None,
    warnings: Callable[[JSONObject, JSONObject | None], list[str]] | None = None,
    reads_annotations: bool = False,
) -> Strategy:
    """A strategy whose validation starts with the metadata; `name` is the rule for names of the kind.

    An update of nothing but metadata is not validated again, unless annotations are part of the rules.
    """

    def with_metadata(obj: JSONObject, old: JSONObject | None) -> Errors:
        errors = validate_metadata(obj, old, name, namespaced)
        unchanged = old is not None and same_but(obj, old, ("metadata", "status"))
        if reads_annotations and old is not None:
            unchanged = unchanged and obj["metadata"].get("annotations") == old["metadata"].get("annotations")
        return errors if unchanged else errors + validate(obj, old)

    def status_with_metadata(obj: JSONObject, old: JSONObject | None) -> Errors:
        return validate_metadata(obj, old, name, namespaced, status=True) + validate_status(obj, old)

    return Strategy(
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=prepare_status,
        validate=with_metadata,
        validate_status=status_with_metadata,
        generation=generation,
        graceful_seconds=graceful_seconds,
        unconditional_update=unconditional_update,
        create_on_update=create_on_update,
        create_by_status=create_by_status,
        selectable=selectable or {},
        selected_as=selected_as or {},
        warnings=warnings or _no_warnings,
    )


def _no_warnings(obj: JSONObject, old: JSONObject | None) -> list[str]:
    return []


def unsupported(field: str, value: Any, choices: Iterable[str]) -> FieldError:
    """A value that is none of the choices, which are listed in the given order."""
    listed = ", ".join(quoted(choice) for choice in choices)
    text = f"Unsupported value: {quoted(value)}: supported values: {listed}"
    return FieldError("FieldValueNotSupported", field, text)


def one_of(field: str, value: Any, choices: Iterable[str]) -> Errors:
    """The value must be one of the choices, listed in alphabetical order."""
    return [] if value in choices else [unsupported(field, value, sorted(choices))]


def non_negative(field: str, value: Any) -> Errors:
    """A number of zero or more, where there is one."""
    return [invalid(field, value, "must be greater than or equal to 0")] if value is not None and value < 0 else []


def positive(field: str, value: Any) -> Errors:
    """A number above zero, where there is one."""
    return [invalid(field, value, "must be greater than 0")] if value is not None and value <= 0 else []


def immutable(field: str, new: Any, old: Any) -> Errors:
    """The value must be the old one."""
    return [] if new == old else [invalid(field, new, IMMUTABLE)]


def port_number(field: str, value: Any) -> Errors:
    """A port number."""
    return [] if value and 1 <= value <= 65535 else [invalid(field, value or 0, _PORT_RULE)]


_PORT_RULE = "must be between 1 and 65535, inclusive"


_PORT_NAME = re.compile(r"[-a-z0-9]+")


def port_name(field: str, value: str) -> Errors:
    """The name of a port: an IANA service name."""
    problems = []
    if len(value) > 15:
        problems.append("must be no more than 15 characters")
    if not _PORT_NAME.fullmatch(value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value[:1] == "-" or value[-1:] == "-":
        problems.append("must not begin or end with a hyphen")
    return [invalid(field, value, problem) for problem in problems]


def port_or_name(field: str, value: Any) -> Errors:
    """A port number or the name of one."""
    return port_name(field, value) if isinstance(value, str) else port_number(field, value)


_PERCENT = re.compile(r"[0-9]+%")
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def count_or_percent(field: str, value: Any) -> Errors:
    """A count of zero or more, or a percentage."""
    if isinstance(value, str):
        return [] if _PERCENT.fullmatch(value) else [invalid(field, value, _PERCENT_RULE)]
    return non_negative(field, value)


def at_most_all(field: str, value: Any) -> Errors:
    """Percentages may not exceed 100 %."""
    wrong = isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100
    return [invalid(field, value, "must not be greater than 100%")] if wrong else []


def is_zero(value: Any) -> bool:
    """Whether a count or percentage is nothing."""
    return value in (0, "0%", None)


def repeated(values: Iterable[Hashable]) -> list[int]:
    """The positions of values that came before."""
    seen: set[Hashable] = set()
    found: list[int] = []
    for position, value in enumerate(values):
        if value in seen:
            found.append(position)
        seen.add(value)
    return found


def selector(field: str, value: Any) -> Errors:
    """A LabelSelector, where there is one."""
    return [] if value is None else list(label_selector.validate(value, field))


def label_map(field: str, value: Any) -> Errors:
    """Labels, where there are some."""
    return labels(value, field)


def matches(value: Any, labels: dict[str, str] | None) -> bool:
    """Whether a valid LabelSelector selects labels; an absent one selects nothing."""
    return label_selector.from_json(value).matches(labels or {})


def template_selector(value: Any, labels: Any, path: str, labels_path: str, kind: str) -> Errors:
    """The selector of a workload: present, not empty, and selecting its own template."""
    if value is None:
        missing = [] if kind == "daemonset" else [required(path)]
        return [*missing, _no_match(labels, labels_path)]
    if not value.get("matchLabels") and not value.get("matchExpressions"):
        return [invalid(path, value, f"empty selector is invalid for {kind}")]
    errors = selector(path, value)
    if errors:
        return [*errors, invalid(path, value, "invalid label selector")]
    return [] if matches(value, labels) else [_no_match(labels, labels_path)]


def _no_match(labels: Any, path: str) -> FieldError:
    return invalid(path, labels or None, "`selector` does not match template `labels`")


def qualified_name(field: str, value: str | None) -> Errors:
    """`name` or `prefix/name`."""
    return [invalid(field, value or "", problem) for problem in key_problems(value or "")]


def domain_prefixed_path(field: str, value: str) -> Errors:
    """A name that a domain owns, such as acme.io/foo."""
    if not value:
        return [required(field)]
    domain, _slash, path = value.partition("/")
    if not domain or not path:
        return [invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    return dns_subdomain(field, domain)


def dns_label(field: str, value: str | None) -> Errors:
    """One part of a DNS name."""
    return [invalid(field, value or "", problem) for problem in in_characters(name_rules.dns_label(value or ""))]


def dns_subdomain(field: str, value: str | None) -> Errors:
    """A DNS name."""
    return [invalid(field, value or "", problem) for problem in in_characters(name_rules.dns_subdomain(value or ""))]


def ip_address(field: str, value: str | None) -> Errors:
    """An IP address, neither of another family in disguise nor with octets that others could take for octal."""
    text = value or ""
    try:
        address = ipaddress.ip_address(text if "%" not in text else "")
    except ValueError:
        octets = text.split(".")
        if len(octets) == 4 and all(part.isascii() and part.isdigit() and int(part) < 256 for part in octets):
            return [invalid(field, text, "must not have leading 0s")]
        return [invalid(field, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return [invalid(field, text, "must not be an IPv4-mapped IPv6 address")]
    return []


_LOCAL_MULTICAST = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}


def usual_ip(field: str, value: str) -> Errors:
    """An address at which others can be reached, or loopback: everything may run on one machine."""
    address = ipaddress.ip_address(value)
    if address.is_unspecified:
        return [invalid(field, value, f"may not be unspecified ({value})")]
    errors: Errors = []
    if address.is_link_local:
        errors.append(invalid(field, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if address in _LOCAL_MULTICAST[address.version]:
        text = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(invalid(field, value, text))
    return errors


def cidr(field: str, value: str) -> Errors:
    """A network in CIDR notation."""
    try:
        if "/" not in value:
            raise ValueError(value)
        ipaddress.ip_interface(value)
    except ValueError:
        return [invalid(field, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    return []


_CONFIG_KEY = re.compile("[-._a-zA-Z0-9]+")
_CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def config_key(field: str, value: str) -> Errors:
    """A key of a ConfigMap or Secret; `field` is the map it is in."""
    return [invalid(f"{field}[{value}]", value, problem) for problem in config_key_problems(value)]


@text_cache(8192)
def config_key_problems(value: str) -> tuple[str, ...]:
    """What is wrong with such a key. The same few keys come again and again, hence the cache."""
    problems = []
    if len(value) > 253:
        problems.append("must be no more than 253 characters")
    if not _CONFIG_KEY.fullmatch(value):
        problems.append(_CONFIG_KEY_RULE)
    elif value in (".", ".."):
        problems.append(f"must not be '{value}'")
    elif value.startswith(".."):
        problems.append("must not start with '..'")
    return tuple(problems)


def filled_values(data: JSONObject) -> JSONObject:
    """A map of bytes with nothing in place of null."""
    return {key: encoded or "" for key, encoded in data.items()}


def quantity_of(value: Any) -> Quantity:
    """A quantity that was decoded already."""
    return Quantity.parse(value)


def frozen_keys(obj: JSONObject, old: JSONObject | None, fields: tuple[str, ...]) -> Errors:
    """What ConfigMaps and Secrets forbid once they are immutable."""
    if old is None or not old.get("immutable"):
        return []
    text = "field is immutable when `immutable` is set"
    errors = [] if obj.get("immutable") else [forbidden("immutable", text)]
    return errors + [forbidden(field, text) for field in fields if obj.get(field) != old.get(field)]
