"""Judges MultiClusterIngresses: the rules of an Ingress, at `spec` or wrapped in `spec.template.spec`."""

import re

import msgspec

from karmada.api.codec import to_tree
from karmada.api.field_errors import FieldError, invalid, not_supported, required
from karmada.api.name_rules import dns_1035_label, dns_subdomain
from karmada.api.networking.v1alpha1 import (
    HTTPIngressPath,
    IngressBackend,
    IngressServiceBackend,
    IngressSpec,
    MultiClusterIngress,
    MultiClusterIngressSpec,
)
from karmada.webhook.addresses import ingress_errors, is_address
from karmada.webhook.model import Operation, Review, decoded, refuse_if_any

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_WILDCARD_RULE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    f"regex used for validation is '{_WILDCARD.pattern}')"
)
_PORT_NAME = re.compile(r"(?!-)(?!.*--)(?=.*[a-z])[-a-z0-9]{1,15}(?<!-)")


async def validate_multicluster_ingress(review: Review) -> None:
    """Judge a MultiClusterIngress."""
    ingress = decoded(review.object, MultiClusterIngress)
    name = ingress.metadata.name
    errors = [invalid("metadata.name", name, why) for why in dns_subdomain(name)]
    template = ingress.spec.template
    if template is None:
        errors += _spec_errors(ingress.spec, "spec")
    else:
        if msgspec.structs.replace(ingress.spec, template=None) != MultiClusterIngressSpec():
            errors.append(invalid("spec.template", "template", "cannot co-exist with other fields of spec"))
        errors += _spec_errors(template.spec, "spec.template.spec")
    if review.operation is Operation.UPDATE:
        errors += ingress_errors(review.object)
    refuse_if_any(errors)


def _spec_errors(spec: IngressSpec, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not spec.rules and spec.default_backend is None:
        detail = "either `defaultBackend` or `rules` must be specified"
        errors.append(invalid(path, to_tree(spec) or None, detail))
    if spec.default_backend is not None:
        errors += _backend_errors(spec.default_backend, f"{path}.defaultBackend")
    for index, rule in enumerate(spec.rules):
        at = f"{path}.rules[{index}]"
        if rule.host:
            errors += _host_errors(rule.host, f"{at}.host")
        if rule.http is not None and not rule.http.paths:
            errors.append(required(f"{at}.http.paths"))
        for number, item in enumerate(rule.http.paths if rule.http else ()):
            errors += _path_errors(item, f"{at}.http.paths[{number}]")
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
        return [] if _WILDCARD.fullmatch(host) else [invalid(path, host, _WILDCARD_RULE)]
    if is_address(host):
        return [invalid(path, host, "must be a DNS name, not an IP address")]
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
        named = (("kind", backend.resource.kind), ("name", backend.resource.name))
        return [required(f"{path}.resource.{field}") for field, value in named if not value]
    if backend.service is None:
        return [invalid(path, "", "resource or service backend is required")]
    return _service_errors(backend.service, path)


def _service_errors(service: IngressServiceBackend, path: str) -> list[FieldError]:
    name, port = service.name, service.port
    if name:
        errors = [invalid(f"{path}.service.name", name, why) for why in dns_1035_label(name)]
    else:
        errors = [required(f"{path}.service.name")]
    if port.name and port.number:
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif port.name:
        if not _PORT_NAME.fullmatch(port.name):
            detail = "must be at most 15 lower case letters, digits and single '-' inside, with at least one letter"
            errors.append(invalid(f"{path}.service.port.name", port.name, detail))
    elif not port.number:
        errors.append(required(path, "port name or number is required"))
    elif not 1 <= port.number <= 65535:
        detail = "must be between 1 and 65535, inclusive"
        errors.append(invalid(f"{path}.service.port.number", port.number, detail))
    return errors
