"""Rules of APIServices, CustomResourceDefinitions and CertificateSigningRequests."""

from karmada.api import name_rules
from karmada.api.field_errors import invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, dns_subdomain, strategy, unsupported
from karmada.apiserver.crds.formats import format_warnings
from karmada.apiserver.crds.validation import validate_crd
from karmada.apiserver.schema.metadata import in_characters, path_segment
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
    prefix = obj["metadata"].get("generateName")
    if prefix and old is None:
        errors.append(invalid("metadata.generateName", prefix, f'must be `spec.version+"."+spec.group`: "{wanted}"'))
    if name != wanted:
        errors.append(invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{wanted}"'))
    group, version = spec.get("group") or "", spec.get("version") or ""
    if group:
        errors += dns_subdomain("spec.group", group)
    elif version != "v1":
        errors.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    problems = in_characters(name_rules.dns_1035_label(version))
    errors += [invalid("spec.version", version, problem) for problem in problems]
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
    if not 1 <= service["port"] <= 65535:
        text = "port is not valid: must be between 1 and 65535, inclusive"
        errors.append(invalid("spec.service.port", service["port"], text))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        text = "may not be true if caBundle is present"
        errors.append(invalid("spec.insecureSkipTLSVerify", True, text))
    return errors


def _validate_api_service_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    return [
        unsupported(f"status.conditions[{index}].status", condition.get("status") or "", ("True", "False", "Unknown"))
        for index, condition in enumerate((obj.get("status") or {}).get("conditions") or ())
        if condition.get("status") not in ("True", "False", "Unknown")
    ]


def _default_crd(obj: JSONObject) -> None:
    spec = obj["spec"]
    names = spec["names"]
    kind = names.get("kind")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", kind + "List")
    spec.setdefault("conversion", {"strategy": "None"})
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


API_SERVICE = strategy(
    _default_api_service,
    _validate_api_service,
    name=path_segment,
    namespaced=False,
    unconditional_update=False,
    validate_status=_validate_api_service_status,
)
CUSTOM_RESOURCE_DEFINITION = strategy(
    _default_crd,
    validate_crd,
    namespaced=False,
    generation=True,
    prepare_create=_create_crd,
    prepare_update=_update_crd,
    unconditional_update=False,
    warnings=format_warnings,
)
CERTIFICATE_SIGNING_REQUEST = strategy(
    name=path_segment,
    validate=_validate_csr,
    validate_status=_validate_csr_status,
    prepare_update=_update_csr,
    namespaced=False,
    selectable=fields("spec.signerName"),
)
