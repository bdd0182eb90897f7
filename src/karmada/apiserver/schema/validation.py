"""Validates custom objects against their structural schema, in the words of the API.

A schema compiles to a closure that yields findings with paths relative to its own node; paths are put together only
when something is wrong, and nodes are compiled when an object first reaches them. With an old object, values that did
not change are not complained about again: a schema may become stricter without locking the objects that exist.
"""

from functools import lru_cache
from types import FunctionType
from typing import Any

import orjson

from karmada.api.field_errors import FieldError
from karmada.apiserver.schema.formats import format_check
from karmada.apiserver.schema.model import COMPILED, MISSING, Schema
from karmada.apiserver.schema.openapi import from_openapi, no_references
from karmada.apiserver.schema.value_checks import TYPES, Check, Finding, Path, int_or_string, shown, typed, value_checks

MAX_FINDINGS = 1000
"""After that many nobody wants to know more of an object or list."""

_WORDS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueDuplicate": "Duplicate value",
}
_BLOCKING = {"FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}


def validate(schema: Schema, value: Any, old: Any = MISSING, base: Path = "") -> list[FieldError]:
    """What is wrong with a value; `base` is the field it stands in, which messages do not repeat."""
    findings = checker(schema)(value, old)
    return [_error(finding, base) for finding in findings] if findings else []


def blocks_rules(errors: list[FieldError]) -> bool:
    """Whether expressions cannot be evaluated sensibly because of these errors."""
    return any(error.reason in _BLOCKING for error in errors)


def _error(finding: Finding, base: Path) -> FieldError:
    path = finding.path
    field = path if not base else base + path if path.startswith("[") else f"{base}.{path}" if path else base
    detail = finding.detail.replace("{}", path, 1)
    word = _WORDS.get(finding.reason)
    if word is None:
        return FieldError(finding.reason, field or "<nil>", detail)
    message = f"{word}: {finding.shown}" + (f": {detail}" if detail else "")
    return FieldError(finding.reason, field or "<nil>", message)


def join(parent: Path, child: Path) -> Path:
    """A relative path below a field."""
    return parent + child if not child or child[0] == "[" else f"{parent}.{child}"


@lru_cache(maxsize=COMPILED)
def checker(schema: Schema) -> Check:
    """The compiled validation of a schema."""
    if schema.name:
        return _anything
    checks = value_checks(schema.rules)
    if schema.properties or schema.required or schema.additional is not None:
        checks.append(_object(schema))
    if schema.items is not None:
        checks.append(_list(schema))
    checks += _logic(schema.rules)
    if schema.int_or_string:
        return _all(int_or_string, (), checks, schema.nullable)
    if not schema.type:
        return _all(_anything, (), checks, schema.nullable)
    return _all(typed(schema), _obvious(schema), checks, schema.nullable)


def _anything(value: Any, old: Any) -> list[Finding] | None:
    return None


def _obvious(schema: Schema) -> tuple[type, ...]:
    """The classes whose values are of a schema's type without a closer look."""
    return () if schema.format and schema.type in ("string", "integer") else TYPES[schema.type]


def _all(of_type: Check, obvious: tuple[type, ...], checks: list[Check], nullable: bool) -> Check:
    """All checks of a node in one; a value that is what it was before is not complained about."""
    if of_type is _anything and not checks:
        return _anything
    only = checks[0] if len(checks) == 1 else None

    def run(value: Any, old: Any) -> list[Finding] | None:
        if value is None and nullable:
            return None
        if old is not MISSING and value == old:
            return None
        found = None
        if value.__class__ not in obvious:
            found = of_type(value, old)
            if found and found[0].reason == "FieldValueTypeInvalid" and not found[0].path:
                return found
        if only is not None and not found:
            return only(value, old)
        for check in checks:
            more = check(value, old)
            if more:
                found = (found or []) + more
        return found

    return run


def _plain(schema: Schema) -> type | None:
    """The class of the values of a schema that asks for nothing else."""
    if schema.name or schema.int_or_string or schema.rules or schema.type not in ("string", "boolean"):
        return None
    return None if schema.format and format_check(schema.format) is not None else TYPES[schema.type][0]


def _object(schema: Schema) -> Check:
    properties = schema.properties or {}
    known: dict[str, Any] = {key: _plain(child) or child for key, child in properties.items()}
    required = schema.required
    additional = schema.additional
    closed = schema.closed

    def run(value: Any, old: Any) -> list[Finding] | None:
        if value.__class__ is not dict:
            return None
        before: Any = old if old.__class__ is dict else {}
        found: list[Finding] | None = None
        for key, child in value.items():
            check = known.get(key, additional)
            if child.__class__ is check or check is None:
                continue
            if check.__class__ is type:
                check = checker(properties[key])
            elif check.__class__ is not FunctionType:
                check = checker(check)
                if key in known:
                    known[key] = check
            if check is not _anything:
                more = check(child, before.get(key, MISSING))
                if more:
                    found = [] if found is None else found
                    found += [f._replace(path=join(key, f.path)) for f in more]
                    if len(found) > MAX_FINDINGS:
                        return found
        if closed and value:
            found = [
                Finding("", "FieldValueInvalid", shown(key), f"{{}}.{key} in body is a forbidden property")
                for key in value
            ]
        for key in required:
            if key not in value:
                found = [] if found is None else found
                found.append(Finding(key, "FieldValueRequired", "", "Required value"))
        return found

    return run


def _list(schema: Schema) -> Check:
    assert schema.items is not None
    item_schema = schema.items
    keys = schema.list_keys if schema.list_type == "map" else ()
    unique = schema.list_type in ("map", "set")
    defaults = {
        key: child.default for key, child in (schema.items.properties or {}).items() if child.default is not MISSING
    }

    def identity(item: Any) -> bytes:
        if keys and item.__class__ is dict:
            item = {key: item.get(key, defaults.get(key)) for key in keys if key in item or key in defaults}
        return orjson.dumps(item)

    def run(value: Any, old: Any) -> list[Finding] | None:
        if value.__class__ is not list:
            return None
        before = {identity(item): item for item in old} if keys and old.__class__ is list else {}
        found: list[Finding] = []
        seen: set[bytes] = set()
        check = checker(item_schema)
        for index, item in enumerate(value):
            known = identity(item) if unique else b""
            more = check(item, before.get(known, MISSING))
            if more:
                found += [f._replace(path=join(f"[{index}]", f.path)) for f in more]
            if unique:
                if known in seen:
                    found.append(Finding(f"[{index}]", "FieldValueDuplicate", shown(orjson.loads(known)), ""))
                seen.add(known)
            if len(found) > MAX_FINDINGS:
                break
        return found

    return run


def _branch(source: dict[str, Any]) -> Check:
    """A schema inside a logical operator: structure without types of its own."""
    return checker(from_openapi(source, no_references))


def _logic(rules: dict[str, Any]) -> list[Check]:
    checks: list[Check] = []
    if "allOf" in rules:
        checks.append(_all_of([_branch(branch) for branch in rules["allOf"]]))
    if "anyOf" in rules:
        checks.append(_any_of([_branch(branch) for branch in rules["anyOf"]]))
    if "oneOf" in rules:
        checks.append(_one_of([_branch(branch) for branch in rules["oneOf"]]))
    if "not" in rules:
        checks.append(_not(_branch(rules["not"])))
    return checks


def _composite(text: str) -> Finding:
    return Finding("", "FieldValueInvalid", '""', f'"{{}}" {text}')


def _all_of(branches: list[Check]) -> Check:
    def run(value: Any, old: Any) -> list[Finding] | None:
        failures = [found for branch in branches if (found := branch(value, MISSING))]
        if not failures:
            return None
        return [_composite("must validate all the schemas (allOf)"), *(f for found in failures for f in found)]

    return run


def _any_of(branches: list[Check]) -> Check:
    def run(value: Any, old: Any) -> list[Finding] | None:
        failures = []
        for branch in branches:
            found = branch(value, MISSING)
            if not found:
                return None
            failures.append(found)
        return [_composite("must validate at least one schema (anyOf)"), *min(failures, key=len)]

    return run


def _one_of(branches: list[Check]) -> Check:
    def run(value: Any, old: Any) -> list[Finding] | None:
        failures = [found for branch in branches if (found := branch(value, MISSING))]
        valid = len(branches) - len(failures)
        if valid == 1:
            return None
        why = "Found none valid" if valid == 0 else f"Found {valid} valid alternatives"
        more = min(failures, key=len) if valid == 0 and failures else []
        return [_composite(f"must validate one and only one schema (oneOf). {why}"), *more]

    return run


def _not(branch: Check) -> Check:
    def run(value: Any, old: Any) -> list[Finding] | None:
        return None if branch(value, MISSING) else [_composite("must not validate the schema (not)")]

    return run
