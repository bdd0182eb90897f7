"""Validation of CustomResourceDefinitions: names, versions, schemas, subresources, columns, conversion."""

import re
from typing import Any

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from karmada.api.webhook_clients import client_config
from karmada.apiserver.crds.costs import TooExpensive
from karmada.apiserver.crds.dump import dump_versions
from karmada.apiserver.crds.selectable_fields import validate_selectable_fields
from karmada.apiserver.crds.structural import has_rules, validate_structure

JSONObject = dict[str, Any]
_SIMPLE_PATH = re.compile(r"(\.[^.\[\]]+)+(\[[^\]]*\])?.*")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("", "byte", "date", "date-time", "double", "float", "int32", "int64", "name", "password")
_APPROVED = "api-approved.kubernetes.io"
_LONGEST_WARNING = 256
_PER_VERSION = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def validate_crd(crd: JSONObject, old: JSONObject | None) -> list[FieldError]:
    """What is wrong with a definition beyond its metadata, or with an update of `old`."""
    spec = crd.get("spec") or {}
    names = spec.get("names") or {}
    errors: list[FieldError] = []
    name = (crd.get("metadata") or {}).get("name") or ""
    wanted = f"{names.get('plural') or ''}.{spec.get('group') or ''}"
    if name != wanted:
        errors.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    errors += _affordable(_spec(spec), old)
    errors += _stored(crd)
    if old is not None:
        errors += _unchanged(crd, old)
    else:
        errors += _approval(crd)
    return errors


def _affordable(errors: list[FieldError], old: JSONObject | None) -> list[FieldError]:
    """The errors without those about costs where the definition has rules already that cost too much."""
    costs = [error for error in errors if isinstance(error, TooExpensive)]
    if old is None or not costs or not any(isinstance(error, TooExpensive) for error in _spec(old.get("spec") or {})):
        return errors
    return [error for error in errors if not isinstance(error, TooExpensive)]


def _shared(versions: list[JSONObject]) -> set[str]:
    """Parts that are the same in all versions, and so are not quoted per version."""
    return {part for part in _PER_VERSION if all(v.get(part) == versions[0].get(part) for v in versions)}


def _spec(spec: JSONObject) -> list[FieldError]:
    errors: list[FieldError] = []
    group = spec.get("group") or ""
    if not group:
        errors.append(required("spec.group"))
    elif problems := name_rules.dns_subdomain(group):
        errors += [invalid("spec.group", group, problem) for problem in problems]
    elif "." not in group:
        errors.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    scope = spec.get("scope") or ""
    if not scope:
        errors.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        errors.append(not_supported("spec.scope", scope, ("Cluster", "Namespaced")))
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid("spec.preserveUnknownFields", True, text))
    versions = spec.get("versions") or []
    errors += _versions(versions)
    errors += _names(spec.get("names") or {})
    errors += _conversion(spec.get("conversion", {"strategy": "None"}))
    return errors


def _versions(versions: list[JSONObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    shared = _shared(versions) if versions else set()
    version_names = [version.get("name") or "" for version in versions]
    for index, name in enumerate(version_names):
        problems = name_rules.dns_1035_label(name) if name else []
        errors += [invalid(f"spec.versions[{index}].name", name, problem) for problem in problems]
        if not name:
            errors.append(required(f"spec.versions[{index}].name"))
    if len(set(version_names)) != len(version_names):
        text = "must contain unique version names"
        errors.append(invalid("spec.versions", dump_versions(versions, shared), text))
    if sum(1 for version in versions if version.get("storage")) != 1:
        text = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", dump_versions(versions, shared), text))
    for index, version in enumerate(versions):
        errors += _deprecation(version, f"spec.versions[{index}].deprecationWarning")
    for index, version in enumerate(versions):
        errors += _version(version, index, shared)
        if len(shared) == len(_PER_VERSION):
            break
    return errors


def _version(version: JSONObject, index: int, shared: set[str]) -> list[FieldError]:
    """One version; parts that all versions share are reported, once, where old clients look for them."""
    errors: list[FieldError] = []
    own = f"spec.versions[{index}]"
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        errors.append(required(f"{own}.schema.openAPIV3Schema"))
    elif "schema" not in shared or index == 0:
        place = "spec.validation" if "schema" in shared else f"{own}.schema"
        errors += _schema(schema, f"{place}.openAPIV3Schema")
    if "subresources" not in shared or index == 0:
        place = "spec" if "subresources" in shared else own
        errors += _subresources(version.get("subresources") or {}, f"{place}.subresources")
    if "additionalPrinterColumns" not in shared or index == 0:
        place = "spec" if "additionalPrinterColumns" in shared else own
        errors += _columns(version.get("additionalPrinterColumns") or [], f"{place}.additionalPrinterColumns")
    if "selectableFields" not in shared or index == 0:
        place = "spec" if "selectableFields" in shared else own
        errors += validate_selectable_fields(version, place, own, shared)
    return errors


def _schema(schema: JSONObject, path: str) -> list[FieldError]:
    errors = validate_structure(schema, path)
    if errors or not has_rules(schema):
        return errors
    from karmada.apiserver.crds.rules import validate_rules

    return validate_rules(schema, path)


def _subresources(subresources: JSONObject, path: str) -> list[FieldError]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for field, root, optional in (
        ("specReplicasPath", ".spec", False),
        ("statusReplicasPath", ".status", False),
        ("labelSelectorPath", ".", True),
    ):
        value = scale.get(field) or ""
        place = f"{path}.scale.{field}"
        if not value:
            if not optional:
                errors.append(required(place))
            continue
        if not value.startswith(".") or not _SIMPLE_PATH.fullmatch(value):
            errors.append(invalid(place, value, "must be a simple json path starting with ."))
        elif optional and not value.startswith((".spec.", ".status.")):
            errors.append(invalid(place, value, "should be a json path under either .spec or .status"))
        elif not optional and not value.startswith(root + "."):
            errors.append(invalid(place, value, f"should be a json path under {root}"))
    return errors


def _columns(columns: list[JSONObject], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, column in enumerate(columns):
        place = f"{path}[{index}]"
        if not column.get("name"):
            errors.append(required(f"{place}.name"))
        kind = column.get("type") or ""
        if not kind:
            errors.append(required(f"{place}.type", f"must be one of {','.join(_COLUMN_TYPES)}"))
        elif kind not in _COLUMN_TYPES:
            errors.append(invalid(f"{place}.type", kind, f"must be one of {','.join(_COLUMN_TYPES)}"))
        form = column.get("format") or ""
        if form not in _COLUMN_FORMATS:
            choices = ",".join(_COLUMN_FORMATS[1:])
            errors.append(invalid(f"{place}.format", form, f"must be one of {choices}"))
        value = column.get("jsonPath") or ""
        if not value:
            errors.append(required(f"{place}.JSONPath"))
        elif not value.startswith("."):
            errors.append(invalid(f"{place}.JSONPath", value, "must be a simple json path starting with ."))
    return errors


def _names(names: JSONObject) -> list[FieldError]:
    errors = [required(f"spec.names.{f}") for f in ("plural", "singular", "kind", "listKind") if not names.get(f)]
    for field in ("plural", "singular"):
        value = names.get(field)
        if value:
            errors += [invalid(f"spec.names.{field}", value, why) for why in name_rules.dns_1035_label(value)]
    for field in ("kind", "listKind"):
        value = names.get(field)
        if value:
            problems = name_rules.dns_1035_label(value.lower())
            errors += [
                invalid(f"spec.names.{field}", value, f"may have mixed case, but should otherwise match: {why}")
                for why in problems
            ]
    for index, value in enumerate(names.get("shortNames") or ()):
        errors += [invalid(f"spec.names.shortNames[{index}]", value, why) for why in name_rules.dns_1035_label(value)]
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    for index, value in enumerate(names.get("categories") or ()):
        errors += [invalid(f"spec.names.categories[{index}]", value, why) for why in name_rules.dns_1035_label(value)]
    return errors


def _conversion(conversion: JSONObject) -> list[FieldError]:
    strategy = conversion.get("strategy")
    if not strategy:
        return [required("spec.conversion.strategy")]
    if strategy not in ("None", "Webhook"):
        return [not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))]
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    place, reviews = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
    if strategy == "None":
        text = "should not be set when strategy is not set to Webhook"
        return [forbidden(field, text) for field, given in ((place, client is not None), (reviews, versions)) if given]
    if client is None:
        errors = [required(place, "required when strategy is set to Webhook")]
    else:
        errors = client_config(client, place)
    if not versions:
        return [*errors, required(reviews)]
    for index, name in enumerate(versions):
        field = f"{reviews}[{index}]"
        errors += [invalid(field, name, problem) for problem in name_rules.dns_1035_label(name)]
        if name in versions[:index]:
            errors.append(invalid(field, name, "duplicate version"))
    if not {"v1", "v1beta1"} & set(versions):
        errors.append(invalid(reviews, versions, "must include at least one of v1, v1beta1"))
    return errors


def _deprecation(version: JSONObject, field: str) -> list[FieldError]:
    """A warning about a version is sent with every answer, in a header."""
    text = version.get("deprecationWarning")
    if text is None:
        return []
    if not version.get("deprecated"):
        return [invalid(field, text, "can only be set for deprecated versions")]
    if not text:
        return [invalid(field, text, "must not be an empty string")]
    errors = []
    if len(text.encode()) > _LONGEST_WARNING:
        errors.append(invalid(field, text, f"must be <= {_LONGEST_WARNING} characters long"))
    place = next((place for place, letter in enumerate(text) if not letter.isprintable()), None)
    if place is not None:
        place = len(text[:place].encode())
        why = f"must only contain printable UTF-8 characters; non-printable character found at index {place}"
        errors.append(invalid(field, text, why))
    return errors


def _stored(crd: JSONObject) -> list[FieldError]:
    versions = (crd.get("spec") or {}).get("versions") or []
    stored = (crd.get("status") or {}).get("storedVersions")
    if not stored:
        return [invalid("status.storedVersions", stored, "must have at least one stored version")]
    storage = [version.get("name") for version in versions if version.get("storage")]
    known = [version.get("name") for version in versions]
    errors = [
        invalid(
            f"status.storedVersions[{index}]",
            name,
            "missing from spec.versions; "
            f"{name} was previously a storage version, and must remain in spec.versions until a storage migration "
            f"ensures no data remains persisted in {name} and removes {name} from status.storedVersions",
        )
        for index, name in enumerate(stored)
        if name not in known
    ]
    if storage and (storage[0] not in stored or len(storage) > len(set(storage))):
        errors.append(invalid("status.storedVersions", stored, f"must have the storage version {storage[0]}"))
    return errors


def _unchanged(crd: JSONObject, old: JSONObject) -> list[FieldError]:
    conditions = (old.get("status") or {}).get("conditions") or ()
    established = any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)
    if not established:
        return []
    errors = []
    for field in ("group", "scope", "names.kind", "names.plural"):
        new_value, old_value = _dig(crd["spec"], field), _dig(old["spec"], field)
        if new_value != old_value:
            errors.append(invalid(f"spec.{field}", new_value, "field is immutable"))
    return errors


def _dig(spec: JSONObject, path: str) -> Any:
    value: Any = spec
    for part in path.split("."):
        value = (value or {}).get(part)
    return value


def _approval(crd: JSONObject) -> list[FieldError]:
    """Groups under the project's own domains need the approval of its API reviewers."""
    group = crd["spec"].get("group") or ""
    if not re.search(r"(^|\.)(k8s|kubernetes)\.io$", group):
        return []
    approved = (crd["metadata"].get("annotations") or {}).get(_APPROVED)
    place = f"metadata.annotations[{_APPROVED}]"
    if not approved:
        text = (
            f'protected groups must have approval annotation "{_APPROVED}", '
            "see https://github.com/kubernetes/enhancements/pull/1111"
        )
        return [required(place, text)]
    if not approved.startswith(("https://", "http://", "unapproved")):
        text = (
            f'protected groups must have approval annotation "{_APPROVED}" with either a URL or a reason starting with '
            '"unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
        )
        return [invalid(place, approved, text)]
    return []
