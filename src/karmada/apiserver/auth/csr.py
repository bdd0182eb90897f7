"""CertificateSigningRequests: what is valid, who may approve and sign, and the certificate of an approved one. Pure.

- A new request carries the identity of its requester, whatever the client wrote.
- Approval needs the verb `approve`, setting the certificate the verb `sign`, on the signer's name.
- The built-in signers check that subject and usages fit; otherwise the request gets the condition Failed.
"""

import base64
import binascii
import datetime
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from karmada.api.name_rules import dns_label, dns_subdomain
from karmada.apiserver import failures
from karmada.apiserver.auth.model import Attributes, Authorizer, UserInfo
from karmada.apiserver.auth.pem import blocks
from karmada.apiserver.auth.pki import Authority, KeyUsages
from karmada.apiserver.resources import FieldError

JSONObject = dict[str, Any]
GROUP, PLURAL = "certificates.k8s.io", "certificatesigningrequests"
CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
LEGACY = "kubernetes.io/legacy-unknown"
SIGNERS = (CLIENT, KUBELET_CLIENT, KUBELET_SERVING, LEGACY)
MINIMUM_SECONDS = 600
DEFAULT_SECONDS = 365 * 86400

_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_FINAL = ("Approved", "Denied", "Failed")


class Subresource(StrEnum):
    """Through which an update comes; each may change other things."""

    MAIN = ""
    APPROVAL = "approval"
    STATUS = "status"


def prepare(obj: JSONObject, user: UserInfo) -> None:
    """Make a new request its requester's."""
    spec = obj.setdefault("spec", {})
    for field in ("username", "uid", "groups", "extra"):
        spec.pop(field, None)
    spec["username"] = user.name
    if user.uid:
        spec["uid"] = user.uid
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    obj["status"] = {}


def stamped(obj: JSONObject, old: JSONObject, now: str) -> list[JSONObject]:
    """The conditions with their times: one that says what it said before has not changed since."""
    since = {(one.get("type"), one.get("status")): one.get("lastTransitionTime") for one in _all_conditions(old)}
    result = []
    for one in _all_conditions(obj):
        changed = one.get("lastTransitionTime") or since.get((one.get("type"), one.get("status"))) or now
        result.append({**one, "lastUpdateTime": one.get("lastUpdateTime") or now, "lastTransitionTime": changed})
    return result


def with_decisions(conditions: list[JSONObject], old: JSONObject) -> list[JSONObject]:
    """Conditions with what was decided before; if a decision was added or removed they stay, to be refused."""
    result = list(conditions)
    for kind in ("Approved", "Denied"):
        before = _conditions(old, kind)
        places = [place for place, one in enumerate(conditions) if one.get("type") == kind]
        if len(before) == len(places):
            for place, decided in zip(places, before, strict=True):
                result[place] = decided
    return result


def check_subject(obj: JSONObject) -> None:
    """Refuse to make administrators by certificate; the 403 of admission."""
    spec = obj.get("spec") or {}
    if spec.get("signerName") != CLIENT:
        return
    name = obj["metadata"].get("name", "")
    try:
        request = _parse(spec.get("request") or "")
    except ValueError as error:
        raise failures.forbidden(GROUP, PLURAL, name, f"failed to parse CSR: {error}") from None
    if "system:masters" in _organisations(request):
        why = f"use of {CLIENT} signer with system:masters group is not allowed"
        raise failures.forbidden(GROUP, PLURAL, name, why)


def check_permission(
    authorizer: Authorizer, user: UserInfo, subresource: Subresource, obj: JSONObject, old: JSONObject
) -> None:
    """Refuse approving or signing without the right to; the 403 of admission."""
    if subresource is Subresource.MAIN:
        return
    if subresource is Subresource.STATUS and _decided(obj) == _decided(old):
        return
    verb = "approve" if subresource is Subresource.APPROVAL else "sign"
    signer = (old.get("spec") or {}).get("signerName", "")
    domain = signer.partition("/")[0]
    for name in (signer, f"{domain}/*"):
        attributes = Attributes(verb, GROUP, "*", "signers", name=name)
        if authorizer.authorize(user, attributes).allowed:
            return
    why = f'user not permitted to {verb} requests with signerName "{signer}"'
    raise failures.forbidden(GROUP, PLURAL, old["metadata"].get("name", ""), why)


def validate(obj: JSONObject, old: JSONObject | None, subresource: Subresource = Subresource.MAIN) -> list[FieldError]:
    """Field errors of a create (`old` is None) or of an update through a subresource."""
    spec = obj.get("spec") or {}
    errors = _spec_errors(spec)
    errors += _condition_errors((obj.get("status") or {}).get("conditions") or [])
    certificate = (obj.get("status") or {}).get("certificate") or ""
    before = ((old or {}).get("status") or {}).get("certificate") or ""
    if certificate != before and not _certificate_problem(before) and (why := _certificate_problem(certificate)):
        shown = f'Invalid value: "<certificate data>": {why}'
        errors.append(FieldError("FieldValueInvalid", "status.certificate", shown))
    if old is not None:
        errors += _update_errors(obj, old, subresource)
    return errors


def sign(
    obj: JSONObject, authority: Authority, at: datetime.datetime, limit: int = DEFAULT_SECONDS
) -> JSONObject | None:
    """The request's new status: with its certificate, or the condition Failed; None when there is nothing to do."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    conditions = status.get("conditions") or []
    if status.get("certificate") or spec.get("signerName") not in SIGNERS or not _approved(conditions):
        return None
    usages = spec.get("usages") or []
    try:
        request = _parse(spec.get("request") or "")
        _check_signer(spec["signerName"], request, usages)
    except ValueError as error:
        time = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        failed = {
            "type": "Failed",
            "status": "True",
            "reason": "SignerValidationFailure",
            "message": str(error),
            "lastUpdateTime": time,
            "lastTransitionTime": time,
        }
        return {**status, "conditions": [*conditions, failed]}
    seconds = min(max(int(spec.get("expirationSeconds") or limit), MINIMUM_SECONDS), limit)
    certificate = authority.issue(
        request.subject, request.public_key(), _usages(usages), _alternatives(request), seconds, at
    )
    return {**status, "certificate": base64.b64encode(certificate).decode()}


def _parse(request: str) -> x509.CertificateSigningRequest:
    first = next(blocks(_decoded(request)), None)
    if first is None or first.kind != "CERTIFICATE REQUEST":
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    return x509.load_der_x509_csr(first.content)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("illegal base64 data") from error


def _certificate_problem(text: str) -> str:
    """Why an issued certificate cannot be accepted, or nothing: there may be several blocks, each a certificate."""
    if not text:
        return ""
    count = 0
    for block in blocks(_decoded(text)):
        if block.kind != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.kind}"'
        if block.headed:
            return "no PEM block headers are permitted"
        if not block.content:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            x509.load_der_x509_certificate(block.content)
        except ValueError:
            return "x509: malformed certificate"
        count += 1
    return "" if count else "must contain at least one CERTIFICATE PEM block"


def _spec_errors(spec: JSONObject) -> list[FieldError]:
    errors: list[FieldError] = []
    try:
        request = _parse(spec.get("request") or "")
        if not request.is_signature_valid:
            raise ValueError("x509: the signature of the request is not valid")
    except ValueError as error:
        shown = _bytes_shown(spec.get("request"))
        errors.append(FieldError("FieldValueInvalid", "spec.request", f"Invalid value: {shown}: {error}"))
    usages = spec.get("usages") or []
    if not usages:
        errors.append(FieldError("FieldValueRequired", "spec.usages", "Required value"))
    supported = ", ".join(f'"{usage}"' for usage in _USAGES)
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            message = f'Unsupported value: "{usage}": supported values: {supported}'
            errors.append(FieldError("FieldValueNotSupported", f"spec.usages[{index}]", message))
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            message = f'Duplicate value: "{usage}"'
            errors.append(FieldError("FieldValueDuplicate", f"spec.usages[{index}]", message))
    errors += _signer_errors(spec.get("signerName", ""))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < MINIMUM_SECONDS:
        message = f"Invalid value: {seconds}: may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(FieldError("FieldValueInvalid", "spec.expirationSeconds", message))
    return errors


def _signer_errors(signer: str) -> list[FieldError]:
    path = "spec.signerName"
    if not signer:
        return [FieldError("FieldValueRequired", path, "Required value")]
    if signer == LEGACY:
        why = "the legacy signerName is not allowed via this API version"
        return [FieldError("FieldValueInvalid", path, f'Invalid value: "{signer}": {why}')]
    domain, slash, name = signer.partition("/")
    if not slash or "/" in name:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [FieldError("FieldValueInvalid", path, f'Invalid value: "{signer}": {why}')]
    problems = []
    for value, rule in ((domain, dns_label), (name, dns_subdomain)):
        label = next((label for label in value.split(".") if rule(label)), None)
        if label is not None:
            problems += [(value, f'validating label "{label}": {why}') for why in rule(label)]
        if value == domain and "." not in domain:
            problems.append((domain, "should be a domain with at least two segments separated by dots"))
    return [FieldError("FieldValueInvalid", path, f'Invalid value: "{value}": {why}') for value, why in problems]


def _condition_errors(conditions: Sequence[JSONObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        path = f"status.conditions[{index}]"
        kind, status = condition.get("type", ""), condition.get("status", "")
        if not kind:
            errors.append(FieldError("FieldValueRequired", f"{path}.type", "Required value"))
        allowed = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
        if not status:
            errors.append(FieldError("FieldValueRequired", f"{path}.status", "Required value"))
        elif status not in allowed:
            values = ", ".join(f'"{value}"' for value in allowed)
            message = f'Unsupported value: "{status}": supported values: {values}'
            errors.append(FieldError("FieldValueNotSupported", f"{path}.status", message))
        if (kind == "Approved" and "Denied" in seen) or (kind == "Denied" and "Approved" in seen):
            message = f'Invalid value: "{kind}": Approved and Denied conditions are mutually exclusive'
            errors.append(FieldError("FieldValueInvalid", "status.conditions", message))
        if kind in seen:
            errors.append(FieldError("FieldValueDuplicate", f"{path}.type", f'Duplicate value: "{kind}"'))
        seen.add(kind)
    return errors


def _update_errors(obj: JSONObject, old: JSONObject, subresource: Subresource) -> list[FieldError]:
    errors = []
    for kind in _FINAL:
        before, after = _conditions(old, kind), _conditions(obj, kind)
        change = ""
        if len(after) < len(before):
            change = "remove"
        elif subresource is not Subresource.APPROVAL and kind != "Failed" and after != before:
            change = "add" if len(after) > len(before) else "modify"
        if change:
            message = f'Forbidden: updates may not {change} a condition of type "{kind}"'
            errors.append(FieldError("FieldValueForbidden", "status.conditions", message))
    before_certificate = (old.get("status") or {}).get("certificate", "")
    if (obj.get("status") or {}).get("certificate", "") != before_certificate:
        if subresource is not Subresource.STATUS:
            message = "Forbidden: updates may not set certificate content"
            errors.append(FieldError("FieldValueForbidden", "status.certificate", message))
        elif before_certificate:
            message = "Forbidden: updates may not modify existing certificate content"
            errors.append(FieldError("FieldValueForbidden", "status.certificate", message))
    return errors


def _check_signer(signer: str, request: x509.CertificateSigningRequest, usages: Sequence[str]) -> None:
    if signer == CLIENT:
        for usage in usages:
            if usage not in ("digital signature", "key encipherment", "client auth"):
                raise ValueError(f"invalid usage for client certificate: {usage}")
        if "client auth" not in usages:
            raise ValueError("missing required usage for client certificate: client auth")
    elif signer in (KUBELET_CLIENT, KUBELET_SERVING):
        _check_kubelet(signer, request, usages)


def _check_kubelet(signer: str, request: x509.CertificateSigningRequest, usages: Sequence[str]) -> None:
    if _organisations(request) != ["system:nodes"]:
        raise ValueError("subject organization is not system:nodes")
    kinds = {type(name) for name in _alternatives(request)}
    if signer == KUBELET_SERVING:
        if not kinds & {x509.DNSName, x509.IPAddress}:
            raise ValueError("DNS or IP subjectAltName is required")
        own = "server auth"
        forbidden: dict[type[x509.GeneralName], str] = {
            x509.RFC822Name: "Email",
            x509.UniformResourceIdentifier: "URI",
        }
    else:
        own = "client auth"
        forbidden = {
            x509.DNSName: "DNS",
            x509.RFC822Name: "Email",
            x509.IPAddress: "IP",
            x509.UniformResourceIdentifier: "URI",
        }
    for kind, shown in forbidden.items():
        if kind in kinds:
            raise ValueError(f"{shown} subjectAltNames are not allowed")
    names = request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if not names or not str(names[0].value).startswith("system:node:"):
        raise ValueError("subject common name does not begin with system:node:")
    full = {"digital signature", "key encipherment", own}
    if set(usages) not in (full, full - {"key encipherment"}):
        raise ValueError(f"usages did not match [{' '.join(sorted(full))}]")


def _usages(usages: Sequence[str]) -> KeyUsages:
    known = {
        "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
        "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
        "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
        "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
        "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
        "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
        "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    }
    return KeyUsages(
        digital_signature="digital signature" in usages or "signing" in usages,
        key_encipherment="key encipherment" in usages,
        extended=tuple(known[usage] for usage in usages if usage in known),
    )


def _alternatives(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    try:
        return list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def _organisations(request: x509.CertificateSigningRequest) -> list[str]:
    return [str(a.value) for a in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def _approved(conditions: Sequence[JSONObject]) -> bool:
    kinds = {condition.get("type") for condition in conditions if condition.get("status") == "True"}
    return "Approved" in kinds and not kinds & {"Denied", "Failed"}


def _all_conditions(obj: JSONObject) -> list[JSONObject]:
    found: list[JSONObject] = (obj.get("status") or {}).get("conditions") or []
    return found


def _conditions(obj: JSONObject, kind: str) -> list[JSONObject]:
    return [c for c in (obj.get("status") or {}).get("conditions") or [] if c.get("type") == kind]


def _decided(obj: JSONObject) -> tuple[Any, Any]:
    status = obj.get("status") or {}
    return status.get("certificate"), status.get("conditions") or []


def _bytes_shown(request: str | None) -> str:
    """The request as the message of a byte field shows it."""
    return "null" if request is None else f'"{request}"'
