"""What a Karmada object must not say. Every message names the field and the remedy. Pure."""

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from msgspec import structs

from karmada.api.name_rules import is_host
from karmada.api.operator.v1alpha1 import Karmada, KarmadaComponents
from karmada.install.naming import Names
from karmada.operator.settings import (
    EMBEDDED,
    FLAVOUR,
    SEARCH,
    etcd_of,
    is_embedded,
    parts_of,
    server_of,
)

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer")
_FLAG = re.compile(r"[A-Za-z0-9][-_.A-Za-z0-9]*")
LONGEST, LONGEST_STATEFUL = 63, 52
"""Characters of a Service's name, and of a StatefulSet's, whose pods carry its name and a hash in a label."""


def problems(karmada: Karmada) -> list[str]:
    """Everything that is wrong with a Karmada object."""
    components = karmada.spec.components
    found = [*_name(karmada), *_flavour(karmada), *_tarball(karmada), *_server(karmada)]
    registry = karmada.spec.private_registry
    if registry is not None and not registry.registry.strip("/"):
        found.append("spec.privateRegistry.registry: write the name of a registry, or leave privateRegistry out")
    if components is not None:
        found += [*_etcd(karmada, components), *_names_and_flags(components)]
    return found


def _name(karmada: Karmada) -> Iterator[str]:
    name = karmada.metadata.name
    if not _LABEL.fullmatch(name):
        yield f"metadata.name: {name} begins the names of Services: use lower-case letters, digits and dashes"
    names, stateful = (
        Names(name),
        {"etcd"} if not is_embedded(karmada) else {"karmada-apiserver", "karmada-aggregated-apiserver", SEARCH},
    )
    for part in parts_of(karmada):
        limit = LONGEST_STATEFUL if part in stateful else LONGEST
        if len(names.of(part)) > limit:
            yield f"metadata.name: {names.of(part)} would have more than {limit} characters: choose a shorter name"
            return


def _flavour(karmada: Karmada) -> Iterator[str]:
    given = karmada.metadata.annotations.get(FLAVOUR, EMBEDDED)
    if given != EMBEDDED:
        yield f"metadata.annotations[{FLAVOUR}]: {given} is not known: leave it out, or write {EMBEDDED}"
    components = karmada.spec.components
    if is_embedded(karmada) and components is not None:
        if components.etcd.external is not None:
            yield f"spec.components.etcd.external: the flavour {EMBEDDED} keeps its objects itself: remove one of them"
        for field, replicas in (
            ("karmadaAPIServer", server_of(karmada).replicas),
            ("etcd.local", components.etcd.local.replicas if components.etcd.local else None),
            ("karmadaSearch", components.karmada_search.replicas if components.karmada_search else None),
        ):
            if (replicas or 1) > 1:
                text = f"the flavour {EMBEDDED} has one of each that keeps objects: leave it out"
                yield f"spec.components.{field}.replicas: {text}"


def _tarball(karmada: Karmada) -> Iterator[str]:
    source = karmada.spec.crd_tarball.http_source if karmada.spec.crd_tarball else None
    if source is None:
        return
    if not _is_url(source.url):
        yield f"spec.crdTarball.httpSource.url: {source.url!r}: invalid CRDs remote URL"
    if source.proxy is not None and not _is_url(source.proxy.proxy_url):
        yield f"spec.crdTarball.httpSource.proxy.proxyURL: {source.proxy.proxy_url!r}: invalid CRDs proxy URL"


def _server(karmada: Karmada) -> Iterator[str]:
    path, server, host = "spec.components.karmadaAPIServer", server_of(karmada), karmada.spec.host_cluster
    type_ = server.service_type or "ClusterIP"
    if type_ not in _TYPES:
        yield f"{path}.serviceType: {type_}: unsupported service type for Karmada API server: {', '.join(_TYPES)}"
    balancer = server.load_balancer_class
    if type_ == "LoadBalancer" and balancer is not None and not _LABEL.fullmatch(balancer.rpartition("/")[2]):
        yield f"{path}.loadBalancerClass: {balancer!r} is no name of a class"
    if server.service_subnet is not None:
        try:
            ipaddress.ip_network(server.service_subnet)
        except ValueError as error:
            yield f"{path}.serviceSubnet: {error}"
    if host is not None and (host.secret_ref is not None or host.api_endpoint):
        yield "spec.hostCluster.secretRef: another host cluster is not served in this version: run an operator there"


def _etcd(karmada: Karmada, components: KarmadaComponents) -> Iterator[str]:
    path, etcd = "spec.components.etcd", components.etcd
    if etcd.local is None and etcd.external is None and not is_embedded(karmada):
        yield f"{path}: unexpected empty etcd configuration: give local or external"
    if etcd.local is not None and etcd.external is not None:
        yield f"{path}: give one of local and external"
    if etcd.external is not None:
        wanted = Names(karmada.metadata.name).of("karmada-etcd-cert")
        if etcd.external.secret_ref.name != wanted:
            yield f"{path}.external.secretRef.name: secret name for external etcd client must be {wanted}"
        if etcd.external.secret_ref.namespace not in ("", karmada.metadata.namespace):
            yield f"{path}.external.secretRef.namespace: pods mount Secrets of their own namespace: leave it out"
        if not etcd.external.endpoints or any(not _is_url(one) for one in etcd.external.endpoints):
            yield f"{path}.external.endpoints: write addresses such as https://etcd.example.com:2379"
    local = etcd_of(karmada)
    if local is not None and local.replicas is not None and local.replicas < 1:
        yield f"{path}.local.replicas: at least 1"


def _names_and_flags(components: KarmadaComponents) -> Iterator[str]:
    """What certificates cannot be for, and flags that programs would not understand."""
    parts = {one.encode_name: getattr(components, one.name) for one in structs.fields(components)}
    for field, settings in (parts | {"etcd.local": components.etcd.local}).items():
        for name, hosts in (
            ("certSANs", getattr(settings, "cert_sans", ())),
            ("serverCertSANs", getattr(settings, "server_cert_sans", ())),
            ("peerCertSANs", getattr(settings, "peer_cert_sans", ())),
        ):
            for host in hosts:
                if not is_host(host):
                    yield f"spec.components.{field}.{name}: {host!r} is no name or address: write it without port"
        for flag in getattr(settings, "extra_args", {}):
            if not _FLAG.fullmatch(flag):
                yield f"spec.components.{field}.extraArgs: {flag!r} is no name of a flag: write it without dashes"


def _is_url(text: str) -> bool:
    parts = urlsplit(text)
    return bool(parts.scheme and (parts.netloc or parts.path.startswith("/")))
