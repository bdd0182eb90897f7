"""Judges MultiClusterIngresses: the rules of an Ingress, at `spec` or wrapped in `spec.template.spec`."""

import re

import msgspec

from karmada.api.field_errors import FieldError, invalid, not_supported, required
from karmada.api.name_rules import dns_1035_label, dns_subdomain
from karmada.api.networking.v1alpha1 import (
    HTTPIngressPath,
    IngressBackend,
    IngressServiceBackend,
    IngressSpec,
    MultiClusterIngress,
    MultiClusterIngressSpec,
    TypedLocalObjectReference,
)
from karmada.webhook.addresses import ingress_errors, is_address
from karmada.webhook.autoscaler import segment_errors
from karmada.webhook.metadata import name_errors, update_errors
from karmada.webhook.model import JSONObject, Operation, Review, decoded, items, refuse_if_any

_MOST_DOUBTS = 10
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_WILDCARD_RULE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    f"regex used for validation is '{_WILDCARD.pattern}')"
)


async def validate_multicluster_ingress(review: Review) -> None:
    """Judge a MultiClusterIngress."""
    ingress = decoded(review.object, MultiClusterIngress)
    errors: list[FieldError] = []
    if review.operation is Operation.UPDATE and review.old is not None:
        decoded(review.old, MultiClusterIngress)
        errors += update_errors(review.object, review.old)
    errors += name_errors(ingress.metadata, dns_subdomain)
    template = ingress.spec.template
    given = review.object.get("spec") or {}
    if template is None:
        errors += _spec_errors(ingress.spec, "spec", given)
    else:
        if msgspec.structs.replace(ingress.spec, template=None) != MultiClusterIngressSpec():
            errors.append(invalid("spec.template", "template", "cannot co-exist with other fields of spec"))
        errors += _spec_errors(template.spec, "spec.template.spec", (given.get("template") or {}).get("spec") or {})
    if review.operation is Operation.UPDATE:
        errors += ingress_errors(review.object)
    refuse_if_any(errors)
    where = "spec" if template is None else "spec.template.spec"
    review.warnings += _doubts(ingress.spec if template is None else template.spec, where)


def _doubts(spec: IngressSpec, path: str) -> list[str]:
    """What is allowed and yet never served: rules that another one hides, certificates nobody asks for."""
    found: list[str] = []
    seen: dict[tuple[str, str, bool], str] = {}
    for index, rule in enumerate(spec.rules):
        for number, item in enumerate(rule.http.paths if rule.http else ()):
            at = f"{path}.rules[{index}].http.paths[{number}]"
            exact = item.path_type == "Exact"
            first = seen.setdefault((rule.host, item.path if exact else item.path.rstrip("/"), exact), at)
            if first != at:
                found.append(f"{at}: never used, as {first} routes the same host and path")
            if item.backend.resource is not None:
                found.append(f"{at}.backend.resource: karmada-gateway serves services only")
    hosts = {rule.host for rule in spec.rules}
    for index, certificate in enumerate(spec.tls):
        if not certificate.secret_name:
            found.append(f"{path}.tls[{index}].secretName: without one these hosts have no certificate")
        for number, host in enumerate(certificate.hosts):
            if host not in hosts and "" not in hosts and spec.default_backend is None:
                found.append(f"{path}.tls[{index}].hosts[{number}]: no rule is for {host}")
    return found[:_MOST_DOUBTS]


def _spec_errors(spec: IngressSpec, path: str, given: JSONObject) -> list[FieldError]:
    """`given` is the spec as sent: there an absent list is not an empty one."""
    errors: list[FieldError] = []
    if not spec.rules and spec.default_backend is None:
        detail = "either `defaultBackend` or `rules` must be specified"
        errors.append(invalid(path, given.get("rules"), detail))
    if spec.default_backend is not None:
        errors += _backend_errors(spec.default_backend, f"{path}.defaultBackend")
    for index, rule in enumerate(spec.rules):
        at = f"{path}.rules[{index}]"
        if rule.host:
            if is_address(rule.host):
                errors.append(invalid(f"{at}.host", rule.host, "must be a DNS name, not an IP address"))
            errors += _host_errors(rule.host, f"{at}.host")
        if rule.http is not None and not rule.http.paths:
            errors.append(required(f"{at}.http.paths"))
        sent = items((given["rules"][index] or {}).get("http") or {}, "paths")
        for number, item in enumerate(rule.http.paths if rule.http else ()):
            where = f"{at}.http.paths[{number}]"
            if sent[number].get("pathType") is None:
                errors.append(required(f"{where}.pathType", "pathType must be specified"))
            else:
                errors += _path_errors(item, where)
    for index, certificate in enumerate(spec.tls):
        at = f"{path}.tls[{index}]"
        for number, host in enumerate(certificate.hosts):
            errors += _host_errors(host, f"{at}.hosts[{number}]")
        if certificate.secret_name:
            errors += _name_errors(certificate.secret_name, f"{at}.secretName")
    if spec.ingress_class_name is not None:
        errors += _name_errors(spec.ingress_class_name, f"{path}.ingressClassName")
    return errors


def _name_errors(name: str, path: str) -> list[FieldError]:
    return [invalid(path, name, why) for why in dns_subdomain(name)]


def _host_errors(host: str, path: str) -> list[FieldError]:
    if "*" in host:
        too_long = [] if len(host.encode()) <= 253 else ["must be no more than 253 characters"]
        problems = [*too_long, *([] if _WILDCARD.fullmatch(host) else [_WILDCARD_RULE])]
        return [invalid(path, host, why) for why in problems]
    return _name_errors(host, path)


def _path_errors(item: HTTPIngressPath, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text, at = item.path, f"{path}.path"
    if item.path_type in ("Exact", "Prefix"):
        if not text.startswith("/"):
            errors.append(invalid(at, text, "must be an absolute path"))
        errors += [invalid(at, text, f"must not contain '{part}'") for part in _BAD_PARTS if part in text]
        errors += [invalid(at, text, f"cannot end with '{end}'") for end in _BAD_ENDS if text.endswith(end)]
    elif item.path_type not in _PATH_TYPES:
        errors.append(not_supported(f"{path}.pathType", item.path_type, _PATH_TYPES))
    elif text and not text.startswith("/"):
        errors.append(invalid(at, text, "must be an absolute path"))
    return errors + _backend_errors(item.backend, f"{path}.backend")


def _backend_errors(backend: IngressBackend, path: str) -> list[FieldError]:
    if backend.service is not None and backend.resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if backend.resource is not None:
        return _resource_errors(backend.resource, f"{path}.resource")
    if backend.service is None:
        return [invalid(path, "", "resource or service backend is required")]
    return _service_errors(backend.service, path)


def _resource_errors(resource: TypedLocalObjectReference, path: str) -> list[FieldError]:
    errors = _name_errors(resource.api_group, f"{path}.apiGroup") if resource.api_group is not None else []
    for field, value in (("kind", resource.kind), ("name", resource.name)):
        if value:
            errors += segment_errors(value, f"{path}.{field}")
        else:
            errors.append(required(f"{path}.{field}", f"{field} is required"))
    return errors


def _service_errors(service: IngressServiceBackend, path: str) -> list[FieldError]:
    name, port = service.name, service.port
    if name:
        errors = [invalid(f"{path}.service.name", name, why) for why in dns_1035_label(name)]
    else:
        errors = [required(f"{path}.service.name")]
    if port.name and port.number:
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif port.name:
        errors += [invalid(f"{path}.service.port.name", port.name, why) for why in _port_name_problems(port.name)]
    elif not port.number:
        errors.append(required(path, "port name or number is required"))
    elif not 1 <= port.number <= 65535:
        detail = "must be between 1 and 65535, inclusive"
        errors.append(invalid(f"{path}.service.port.number", port.number, detail))
    return errors


def _port_name_problems(name: str) -> list[str]:
    rules = (
        (len(name.encode()) <= 15, "must be no more than 15 characters"),
        (re.fullmatch("[-a-z0-9]+", name), "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        (re.search("[a-z]", name), "must contain at least one letter (a-z)"),
        ("--" not in name, "must not contain consecutive hyphens"),
        (not (name.startswith("-") or name.endswith("-")), "must not begin or end with a hyphen"),
    )
    return [why for holds, why in rules if not holds]
