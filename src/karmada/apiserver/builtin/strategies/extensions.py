"""Rules of APIServices, CustomResourceDefinitions, CertificateSigningRequests and flow control."""

from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, dns_subdomain, one_of, strategy, unsupported
from karmada.apiserver.crds.validation import validate_crd
from karmada.apiserver.schema.metadata import path_segment
from karmada.apiserver.selectable import fields


def _default_api_service(obj: JSONObject) -> None:
    service = obj["spec"].get("service")
    if service is not None:
        service.setdefault("port", 443)


def _validate_api_service(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    name = obj["metadata"].get("name") or ""
    wanted = f"{spec.get('version') or ''}.{spec.get('group') or ''}"
    errors: Errors = []
    if name != wanted:
        errors.append(invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{wanted}"'))
    priority = spec.get("groupPriorityMinimum") or 0
    if not 0 < priority <= 20000:
        text = "must be positive and less than 20000"
        errors.append(invalid("spec.groupPriorityMinimum", priority, text))
    priority = spec.get("versionPriority") or 0
    if not 0 < priority <= 1000:
        errors.append(invalid("spec.versionPriority", priority, "must be positive and less than 1000"))
    service = spec.get("service")
    if service is None:
        if spec.get("caBundle"):
            errors.append(invalid("spec.caBundle", "<bytes>", "local APIServices may not have a caBundle"))
        if spec.get("insecureSkipTLSVerify"):
            text = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(invalid("spec.insecureSkipTLSVerify", True, text))
        return errors
    errors += [required(f"spec.service.{field}") for field in ("namespace", "name") if not service.get(field)]
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        text = "may not be true if caBundle is present"
        errors.append(invalid("spec.insecureSkipTLSVerify", True, text))
    return errors


def _default_crd(obj: JSONObject) -> None:
    spec = obj["spec"]
    names = spec["names"]
    kind = names.get("kind")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", kind + "List")
    spec.setdefault("conversion", {}).setdefault("strategy", "None")
    webhook = (spec["conversion"].get("webhook") or {}).get("clientConfig") or {}
    if "service" in webhook:
        webhook["service"].setdefault("port", 443)
    if not spec.get("preserveUnknownFields"):
        spec.pop("preserveUnknownFields", None)


def _create_crd(obj: JSONObject) -> None:
    storage = [v["name"] for v in obj["spec"].get("versions") or () if v.get("storage")]
    obj["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": storage[:1] or None,
    }


def _update_crd(obj: JSONObject, old: JSONObject) -> None:
    """The versions in which objects may be stored only grow here."""
    stored = list((old.get("status") or {}).get("storedVersions") or ())
    storage = [v["name"] for v in obj["spec"].get("versions") or () if v.get("storage")]
    obj["status"] = {**(old.get("status") or {})}
    obj["status"]["storedVersions"] = stored + [name for name in storage if name not in stored]


def _validate_csr(obj: JSONObject, old: JSONObject | None) -> Errors:
    from karmada.apiserver.auth import csr

    return csr.validate(obj, old, csr.Subresource.MAIN)


def _validate_csr_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    from karmada.apiserver.auth import csr

    return csr.validate(obj, old, csr.Subresource.STATUS)


def _update_csr(obj: JSONObject, old: JSONObject) -> None:
    """Requests never change; what a client sends is ignored."""
    obj["spec"] = old["spec"]
    obj["status"] = old.get("status") or {}


def _default_flow_schema(obj: JSONObject) -> None:
    obj["spec"]["matchingPrecedence"] = obj["spec"].get("matchingPrecedence") or 1000


def _validate_flow_schema(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors: Errors = []
    precedence = spec["matchingPrecedence"]
    if precedence <= 0:
        errors.append(invalid("spec.matchingPrecedence", precedence, "must be a positive value"))
    elif precedence > 10000:
        errors.append(invalid("spec.matchingPrecedence", precedence, "must not be greater than 10000"))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByUser", "ByNamespace"):
        shown = {"Type": method.get("type")}
        errors.append(unsupported("spec.distinguisherMethod.type", shown, ("ByNamespace", "ByUser")))
    level = spec["priorityLevelConfiguration"].get("name")
    if level:
        errors += dns_subdomain("spec.priorityLevelConfiguration.name", level)
    else:
        errors.append(required("spec.priorityLevelConfiguration.name", "must reference a priority level"))
    return errors


def _default_priority_level(obj: JSONObject) -> None:
    spec = obj["spec"]
    limited = spec.get("limited")
    if limited is not None:
        if limited.get("nominalConcurrencyShares") is None:
            limited["nominalConcurrencyShares"] = 30
        limited.setdefault("lendablePercent", 0)
        response = limited["limitResponse"]
        if response.get("type") == "Queue":
            queuing = response.setdefault("queuing", {})
            for field, value in (("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)):
                queuing[field] = queuing.get(field) or value
    exempt = spec.get("exempt")
    if exempt is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)


def _validate_priority_level(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    kind = spec.get("type") or ""
    errors = one_of("spec.type", kind, ("Exempt", "Limited"))
    if kind == "Limited" and spec.get("limited") is None:
        errors.append(required("spec.limited", "must not be empty when type is Limited"))
    if kind == "Exempt" and spec.get("limited") is not None:
        errors.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
    if kind == "Limited" and spec.get("limited") is not None:
        response = spec["limited"]["limitResponse"].get("type") or ""
        errors += one_of("spec.limited.limitResponse.type", response, ("Queue", "Reject"))
    return errors


API_SERVICE = strategy(_default_api_service, _validate_api_service, name=path_segment, namespaced=False)
CUSTOM_RESOURCE_DEFINITION = strategy(
    _default_crd,
    validate_crd,
    namespaced=False,
    generation=True,
    prepare_create=_create_crd,
    prepare_update=_update_crd,
    unconditional_update=False,
)
CERTIFICATE_SIGNING_REQUEST = strategy(
    validate=_validate_csr,
    validate_status=_validate_csr_status,
    prepare_update=_update_csr,
    namespaced=False,
    selectable=fields("spec.signerName"),
)
FLOW_SCHEMA = strategy(_default_flow_schema, _validate_flow_schema, namespaced=False, generation=True)
PRIORITY_LEVEL = strategy(_default_priority_level, _validate_priority_level, namespaced=False, generation=True)
