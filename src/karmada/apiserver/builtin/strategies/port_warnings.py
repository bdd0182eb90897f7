"""Warnings about the ports of containers."""

from collections.abc import Iterator
from itertools import islice

from karmada.apiserver.builtin.strategies.common import JSONObject


def containers_of(spec: JSONObject, path: str) -> Iterator[tuple[str, JSONObject]]:
    """All containers of a pod with their paths."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{path}.{field}[{index}]", container


COMPARED = 10_000
"""Pairs of ports, or of files, of a pod that are compared: answers have room for a few dozen warnings, and a body has
room for a hundred thousand ports."""


def port_warnings(spec: JSONObject, path: str) -> list[str]:
    """Ports that more than one entry names, and addresses of hosts without a port."""
    entries = [
        (f"{where}.ports[{index}]", port)
        for where, container in containers_of(spec, path)
        for index, port in enumerate(container.get("ports") or ())
    ]
    if not entries:
        return []
    return [text for text in islice(_comparisons(entries), COMPARED) if text] + _port_names(entries)


def _comparisons(entries: list[tuple[str, JSONObject]]) -> Iterator[str]:
    """What there is to say about each port, and about each pair of them; mostly nothing."""
    known: dict[tuple[int, str], list[tuple[str, JSONObject]]] = {}
    for place, port in entries:
        address, outside = port.get("hostIP") or "", port.get("hostPort") or 0
        number, protocol = port.get("containerPort") or 0, port.get("protocol") or ""
        if address and not outside:
            shown = (
                f"Name:{port.get('name') or ''} HostPort:0 ContainerPort:{number} Protocol:{protocol} HostIP:{address}"
            )
            yield f"{place}: hostIP set without hostPort: {{{shown}}}"
        others = known.setdefault((number, protocol), [])
        for other, before in others:
            there, its = before.get("hostIP") or "", before.get("hostPort") or 0
            if (there, its) == (address, outside):
                yield f"{place}: duplicate port definition with {other}"
            elif not outside or not its:
                yield f"{place}: overlapping port definition with {other}"
            elif outside == its and bool(address) != bool(there):
                yield f"{place}: dangerously ambiguous port definition with {other}"
            else:
                yield ""
        others.append((place, port))


def _port_names(entries: list[tuple[str, JSONObject]]) -> list[str]:
    texts = []
    first: dict[str, str] = {}
    for place, port in entries:
        if name := port.get("name"):
            if name in first:
                other = first[name]
                tail = f"services and probes that select ports by name will use {other}"
                texts.append(f'{place}: duplicate port name "{name}" with {other}, {tail}')
            first.setdefault(name, place)
    return texts
