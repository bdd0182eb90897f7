"""Cluster DNS: which Service, pod or address a host name means inside a cluster. Pure."""

import re
from ipaddress import ip_address
from typing import NamedTuple

DOMAIN = "cluster.local"
SET_DOMAIN = "clusterset.local"
DERIVED = "derived-"


class ServiceName(NamedTuple):
    """A Service, or one endpoint of a headless one by its hostname."""

    namespace: str
    name: str
    hostname: str = ""


class PodAddress(NamedTuple):
    """An address, written as such or as a pod's DNS name."""

    address: str


_POD = re.compile(r"((?:\d{1,3}-){3}\d{1,3})\.[a-z0-9-]+\.pod")


def candidates(host: str, namespace: str) -> list[ServiceName | PodAddress]:
    """What a name may mean in a namespace, in the order of the search domains; the first that exists is meant."""
    host = host.rstrip(".").lower()
    if is_address(host):
        return [PodAddress(host)]
    if host == "localhost":
        return [PodAddress("127.0.0.1")]
    if host.endswith(f".svc.{SET_DOMAIN}"):
        return [found._replace(name=f"{DERIVED}{found.name}") for found in _service(host, SET_DOMAIN)]
    inside = host.removesuffix(f".{DOMAIN}")
    if match := _POD.fullmatch(inside):
        return [PodAddress(match[1].replace("-", "."))]
    searched = [inside] if inside != host else [f"{inside}.{namespace}.svc", f"{inside}.svc", inside]
    return [found for name in searched for found in _service(f"{name}.{DOMAIN}", DOMAIN)]


def is_address(host: str) -> bool:
    """Whether a host is written as an address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _service(host: str, domain: str) -> list[ServiceName]:
    parts = host.removesuffix(f".{domain}").split(".")
    if parts[-1] != "svc" or not 3 <= len(parts) <= 4 or not all(parts):
        return []
    *front, name, namespace, _ = parts
    return [ServiceName(namespace, name, front[0] if front else "")]
