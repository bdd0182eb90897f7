"""NetworkPolicies: sentences rather than columns."""

from typing import Any

from karmada.api.timestamps import parse
from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Related

JSONObject = dict[str, Any]


def network_policy(page: Page, item: JSONObject, _: Related) -> None:
    """A NetworkPolicy."""
    spec = item.get("spec") or {}
    metadata.name(page, item)
    created = item["metadata"].get("creationTimestamp")
    page.field(0, "Created on", parse(created).strftime("%Y-%m-%d %H:%M:%S +0000 UTC") if created else "")
    metadata.marks(page, item)
    page.line(0, "Spec:")
    chosen = metadata.selector(spec.get("podSelector"))
    everything = " (Allowing the specific traffic to all pods in this namespace)"
    page.line(1, f"PodSelector:     {chosen}{everything if chosen == '<none>' else ''}")
    types = spec.get("policyTypes") or []
    _direction(page, "ingress", "Ingress" in types, spec.get("ingress") or [])
    _direction(page, "egress", "Egress" in types, spec.get("egress") or [])
    page.line(1, f"Policy Types: {', '.join(types)}")


def _direction(page: Page, word: str, affected: bool, rules: list[JSONObject]) -> None:
    if not affected:
        page.line(1, f"Not affecting {word} traffic")
        return
    page.line(1, f"Allowing {word} traffic:")
    if not rules:
        page.line(2, f"<none> (Selected pods are isolated for {word} connectivity)")
    side, key, end = ("From", "from", "source") if word == "ingress" else ("To", "to", "destination")
    for number, rule in enumerate(rules):
        if number:
            page.line(2, "----------")
        for port in rule.get("ports") or ():
            page.line(2, _port(port))
        if not rule.get("ports"):
            page.line(2, "To Port: <any> (traffic allowed to all ports)")
        for peer in rule.get(key) or ():
            _peer(page, side, peer)
        if not rule.get(key):
            page.line(2, f"{side}: <any> (traffic not restricted by {end})")


def _port(port: JSONObject) -> str:
    protocol = port.get("protocol", "TCP")
    if "endPort" in port:
        return f"To Port Range: {port['port']}-{port['endPort']}/{protocol}"
    return f"To Port: {port.get('port', '<any>')}/{protocol}"


def _peer(page: Page, side: str, peer: JSONObject) -> None:
    page.line(2, f"{side}:")
    for title, key in (("NamespaceSelector", "namespaceSelector"), ("PodSelector", "podSelector")):
        if key in peer:
            page.line(3, f"{title}: {metadata.selector(peer[key])}")
    if block := peer.get("ipBlock"):
        page.line(3, "IPBlock:")
        page.line(4, f"CIDR: {block['cidr']}")
        page.line(4, f"Except: {', '.join(block.get('except') or ())}")
