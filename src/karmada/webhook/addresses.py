"""Addresses inside a status of load balancers."""

import ipaddress

from karmada.api.field_errors import FieldError, invalid
from karmada.api.name_rules import dns_subdomain
from karmada.webhook.model import JSONObject, items


def ingress_errors(tree: JSONObject) -> list[FieldError]:
    """What is wrong with the points of entry that an object reports."""
    errors: list[FieldError] = []
    balancer = (tree.get("status") or {}).get("loadBalancer") or {}
    for index, ingress in enumerate(items(balancer, "ingress")):
        path = f"status.loadBalancer.ingress[{index}]"
        address, host = ingress.get("ip"), ingress.get("hostname")
        if address and not is_address(address):
            errors.append(invalid(f"{path}.ip", address, "must be a valid IP address"))
        if host:
            errors += [invalid(f"{path}.hostname", host, why) for why in dns_subdomain(host)]
            if is_address(host):
                errors.append(invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address"))
    return errors


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
