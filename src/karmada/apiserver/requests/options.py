"""Query options of each verb, decoded and checked with the wording of the reference.

Numbers and booleans follow the reference's leniency: any boolean text but `false` and `0` is true.
"""

import re
from typing import Any, NamedTuple

import msgspec

from karmada.api import field_selector, label_selector
from karmada.apiserver.failures import invalid
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.apiserver.schema.scalars import described
from karmada.machinery.httpserver.failure import Failure, bad_request

Params = dict[str, str]


class ListOptions(NamedTuple):
    """Options of list, watch and deletecollection."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_: str = ""
    resource_version: str = ""
    match: str = ""
    timeout_seconds: int | None = None
    bookmarks: bool = False
    send_initial_events: bool | None = None


class WriteOptions(msgspec.Struct, frozen=True, gc=False):
    """Options of create, update and patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = ""
    force: bool = False


def flag(params: Params, name: str) -> bool:
    """A boolean parameter."""
    value = params.get(name)
    return value is not None and value.lower() not in ("false", "0")


def first_params(pairs: list[tuple[str, str]]) -> Params:
    """Parameters of a query: of a repeated one the first counts, but no dry run is overlooked."""
    params: Params = {}
    for name, value in pairs:
        if name not in params or (name == "dryRun" and value != "All"):
            params[name] = value
    return params


_INTEGER = re.compile(r"[-+]?\d+", re.ASCII)


def integer(params: Params, name: str) -> int | None:
    """An integer parameter, None when absent or empty."""
    value = params.get(name)
    if not value:
        return None
    if not _INTEGER.fullmatch(value):
        raise bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax')
    number = int(value[:32])  # What is longer is out of range as well.
    if not -(2**63) <= number < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{value}": value out of range')
    return number


def list_options(params: Params, watch: bool) -> ListOptions:
    """Decode and check the options of list and watch."""
    if not params:
        return ListOptions()
    initial = flag(params, "sendInitialEvents") if "sendInitialEvents" in params else None
    options = ListOptions(
        params.get("labelSelector", ""),
        params.get("fieldSelector", ""),
        max(integer(params, "limit") or 0, 0),
        params.get("continue", ""),
        params.get("resourceVersion", ""),
        params.get("resourceVersionMatch", ""),
        integer(params, "timeoutSeconds"),
        flag(params, "allowWatchBookmarks"),
        initial,
    )
    errors = _check_watch(options) if watch else _check_list(options)
    if errors:
        _check_selectors(options)
        raise invalid("meta.k8s.io", "ListOptions", "", errors)
    return options


def _check_selectors(options: ListOptions) -> None:
    """Selectors that cannot be read are refused before options that do not go together."""
    try:
        label_selector.parse(options.label_selector)
        field_selector.parse(options.field_selector)
    except (label_selector.LabelSelectorError, field_selector.FieldSelectorError) as error:
        raise bad_request(str(error)) from None


def _forbidden(field: str, text: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, f"Forbidden: {text}")


def _check_list(options: ListOptions) -> list[FieldError]:
    errors = _check_match(options) if options.match else []
    if options.send_initial_events is not None:
        errors.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _check_match(options: ListOptions) -> list[FieldError]:
    match, version = options.match, options.resource_version
    errors = []
    if not version:
        text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        errors.append(_forbidden("resourceVersionMatch", text))
    if options.continue_:
        errors.append(_forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("Exact", "NotOlderThan"):
        text = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        errors.append(FieldError("FieldValueNotSupported", "resourceVersionMatch", text))
    if match == "Exact" and version == "0":
        text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        errors.append(_forbidden("resourceVersionMatch", text))
    return errors


def _check_watch(options: ListOptions) -> list[FieldError]:
    errors = []
    if options.send_initial_events is not None:
        if options.match != "NotOlderThan":
            text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            errors.append(_forbidden("resourceVersionMatch", text))
        if options.match not in ("", "NotOlderThan"):
            text = f'Unsupported value: "{options.match}": supported values: "NotOlderThan"'
            errors.append(FieldError("FieldValueNotSupported", "resourceVersionMatch", text))
    elif options.match:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        errors.append(_forbidden("resourceVersionMatch", text))
    if options.continue_:
        errors.append(_forbidden("continue", "continue is forbidden for watch"))
    return errors


def write_options(params: Params, kind: str, apply: bool = False) -> WriteOptions:
    """Decode and check the options of a write; `kind` is CreateOptions, UpdateOptions or PatchOptions."""
    if not params:
        if apply:
            raise invalid("meta.k8s.io", kind, "", [_manager_required()])
        return WriteOptions()
    manager = params.get("fieldManager", "")
    if manager and len(params) == 1 and not _check_manager(manager):
        return WriteOptions(field_manager=manager)
    errors: list[FieldError] = []
    dry_run = dry_run_option(params, errors)
    validation = params.get("fieldValidation", "")
    force = flag(params, "force")
    if "force" in params and not apply and kind == "PatchOptions":
        errors.append(_forbidden("force", "may not be specified for non-apply patch"))
    if apply and not manager:
        errors.append(_manager_required())
    errors += _check_manager(manager)
    if validation not in ("", "Ignore", "Warn", "Strict"):
        text = f'Unsupported value: "{validation}": supported values: "", "Ignore", "Strict", "Warn"'
        errors.append(FieldError("FieldValueNotSupported", "fieldValidation", text))
    if errors:
        raise invalid("meta.k8s.io", kind, "", errors)
    return WriteOptions(dry_run, manager, validation, force)


def admission_options(options: WriteOptions, kind: str) -> JSONObject:
    """The options object that admission sees."""
    body: JSONObject = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        body["dryRun"] = ["All"]
    if options.field_manager:
        body["fieldManager"] = options.field_manager
    if options.field_validation:
        body["fieldValidation"] = options.field_validation
    if options.force:
        body["force"] = True
    return body


def _manager_required() -> FieldError:
    return FieldError("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")


def dry_run_option(params: Params, errors: list[FieldError]) -> bool:
    """The dryRun parameter; anything but `All` is an error, and nothing at all no less."""
    value = params.get("dryRun", "All")
    if value != "All":
        text = f'Unsupported value: ["{value}"]: supported values: "All"'
        errors.append(FieldError("FieldValueNotSupported", "dryRun", text))
    return "dryRun" in params


def _check_manager(manager: str) -> list[FieldError]:
    if len(manager) <= 32 and manager.isprintable():
        return []
    errors = []
    if len(manager.encode()) > 128:
        errors.append(FieldError("FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes"))
    for position, character in enumerate(manager):
        if not character.isprintable():
            quoted = manager.encode("unicode_escape").decode()
            text = f'Invalid value: "{quoted}": invalid character U+{ord(character):04X} (at position {position})'
            errors.append(FieldError("FieldValueInvalid", "fieldManager", text))
    return errors


class DeleteOptions(NamedTuple):
    """Options of delete and deletecollection; they come in the body, the query or both."""

    dry_run: bool = False
    grace_seconds: int | None = None
    policy: str = ""
    orphan: bool | None = None
    uid: str | None = None
    resource_version: str | None = None


_POLICIES = ("Foreground", "Background", "Orphan")


def delete_options(params: Params, body: JSONObject | None) -> DeleteOptions:
    """Decode and check deletion options; a body replaces the query."""
    source: JSONObject = _decoded(body) if body is not None else _from_query(params)
    errors: list[FieldError] = []
    orphan, policy = source.get("orphanDependents"), source.get("propagationPolicy")
    if orphan is not None and policy is not None:
        text = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        errors.append(FieldError("FieldValueInvalid", "propagationPolicy", text))
    if policy is not None and policy not in _POLICIES:
        text = f'Unsupported value: "{policy}": supported values: "Foreground", "Background", "Orphan", "nil"'
        errors.append(FieldError("FieldValueNotSupported", "propagationPolicy", text))
    for value in source.get("dryRun") or ():
        if value != "All":
            text = f'Unsupported value: {_quoted(source["dryRun"])}: supported values: "All"'
            errors.append(FieldError("FieldValueNotSupported", "dryRun", text))
            break
    if errors:
        raise invalid("meta.k8s.io", "DeleteOptions", "", errors)
    preconditions = source.get("preconditions") or {}
    grace = source.get("gracePeriodSeconds")
    return DeleteOptions(
        bool(source.get("dryRun")),
        grace,
        policy or "",
        orphan,
        preconditions.get("uid"),
        preconditions.get("resourceVersion"),
    )


_TYPES: dict[str, tuple[type, str]] = {
    "gracePeriodSeconds": (int, "int64"),
    "preconditions": (dict, "v1.Preconditions"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "dryRun": (list, "[]string"),
    "ignoreStoreReadErrorWithClusterBreakingPotential": (bool, "bool"),
}
_PRECONDITIONS = {"uid": "types.UID", "resourceVersion": "string"}


def _decoded(body: JSONObject) -> JSONObject:
    """Options of the right types, without nulls."""
    source = {key: value for key, value in body.items() if value is not None}
    for key, (kind, name) in _TYPES.items():
        value = source.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool)):
            raise _mismatch(value, f"DeleteOptions.{key}", name)
    for key, name in _PRECONDITIONS.items():
        value = source.get("preconditions", {}).get(key)
        if value is not None and not isinstance(value, str):
            raise _mismatch(value, f"Preconditions.preconditions.{key}", name)
    for value in source.get("dryRun", ()):
        if not isinstance(value, str):
            raise _mismatch(value, "DeleteOptions.dryRun", "string")
    return source


def _mismatch(value: Any, field: str, name: str) -> Failure:
    return bad_request(f"json: cannot unmarshal {described(value)} into Go struct field {field} of type {name}")


def _quoted(values: list[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _from_query(params: Params) -> JSONObject:
    source: JSONObject = {}
    if not params:
        return source
    if "dryRun" in params:
        source["dryRun"] = [params["dryRun"]]
    grace = integer(params, "gracePeriodSeconds")
    if grace is not None:
        source["gracePeriodSeconds"] = grace
    if params.get("propagationPolicy"):
        source["propagationPolicy"] = params["propagationPolicy"]
    if "orphanDependents" in params:
        source["orphanDependents"] = flag(params, "orphanDependents")
    source["preconditions"] = {name: params[name] for name in _PRECONDITIONS if params.get(name)}
    return source


def parse_version(text: str) -> int:
    """A resource version given by a client; raises ValueError with the reference's words."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise ValueError(_unparsable(text))


def unparsable_version(text: str) -> Failure:
    """The answer of get and watch to a resource version that is no number."""
    return Failure(500, "", _unparsable(text))


def _unparsable(text: str) -> str:
    return f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
