"""Quantities, addresses, URLs and versions inside expressions: functions on maps that carry a private key.

CEL sees an opaque map such as {"@quantity": "1Gi"}; only the functions here look inside. Each function raises
ValueError with the words that evaluation errors have.
"""

import ipaddress
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from karmada.api.quantity import Quantity, QuantityError

Tagged = dict[str, Any]
_QUANTITY, _IP, _CIDR, _URL, _SEMVER = "@quantity", "@ip", "@cidr", "@url", "@semver"
_SEMVER_SHAPE = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII
)


def quantity(text: str) -> Tagged:
    try:
        return {_QUANTITY: str(Quantity.parse(text))}
    except QuantityError as error:
        raise ValueError(error.reason) from None


def is_quantity(text: str) -> bool:
    return _holds(quantity, text)


def _amount(value: Tagged) -> Quantity:
    return Quantity.parse(value[_QUANTITY])


def is_integer(value: Tagged) -> bool:
    amount = _amount(value)
    return amount == Quantity.parse(str(amount.value())) and -(2**63) <= amount.value() < 2**63


def as_integer(value: Tagged) -> int:
    if not is_integer(value):
        raise ValueError("cannot convert value to integer")
    return _amount(value).value()


def as_float(value: Tagged) -> float:
    amount = _amount(value)
    return float(amount.unscaled) * 10.0**amount.exponent


def sign(value: Tagged) -> int:
    amount = _amount(value).unscaled
    return (amount > 0) - (amount < 0)


def add(left: Tagged, right: Tagged) -> Tagged:
    return {_QUANTITY: str(_amount(left) + _amount(right))}


def sub(left: Tagged, right: Tagged) -> Tagged:
    return {_QUANTITY: str(_amount(left) - _amount(right))}


def add_integer(left: Tagged, right: int) -> Tagged:
    return {_QUANTITY: str(_amount(left) + Quantity.parse(str(right)))}


def sub_integer(left: Tagged, right: int) -> Tagged:
    return {_QUANTITY: str(_amount(left) - Quantity.parse(str(right)))}


def compare(left: Tagged, right: Tagged) -> int:
    """Order of two quantities or two semantic versions."""
    if _SEMVER in left and _SEMVER in right:
        a, b = _precedence(left), _precedence(right)
        return (a > b) - (a < b)
    x, y = _amount(left), _amount(right)
    return (x > y) - (x < y)


def semver(text: str) -> Tagged:
    if not _SEMVER_SHAPE.fullmatch(text):
        raise ValueError("No Major.Minor.Patch elements found")
    return {_SEMVER: text}


def is_semver(text: str) -> bool:
    return _holds(semver, text)


def lenient_semver(text: str, normalize: bool) -> Tagged:
    """A version that may begin with a v, have leading zeros, or lack minor and patch when it is to be normalised."""
    if not normalize:
        return semver(text)
    shape = re.fullmatch(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+].*)?", text)
    if shape is None:
        return semver(text)
    numbers = ".".join(str(int(part or 0)) for part in shape.groups()[:3])
    return semver(numbers + (shape[4] or ""))


def is_lenient_semver(text: str, normalize: bool) -> bool:
    """Whether a text is such a version."""
    return _holds(lambda given: lenient_semver(given, normalize), text)


def semver_part(index: int, value: Tagged) -> int:
    match = _SEMVER_SHAPE.fullmatch(value[_SEMVER])
    assert match is not None
    return int(match[index])


def _precedence(value: Tagged) -> tuple[Any, ...]:
    match = _SEMVER_SHAPE.fullmatch(value[_SEMVER])
    assert match is not None
    numbers = (int(match[1]), int(match[2]), int(match[3]))
    if not match[4]:
        return (*numbers, 1, ())
    parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in match[4].split("."))
    return (*numbers, 0, parts)


def ip(text: str) -> Tagged:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(f'IP Address "{text}" parse error during conversion from string') from None
    if isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped or address.scope_id):
        raise ValueError(f'IP Address "{text}" is not allowed: mapped or zoned addresses are not supported')
    return {_IP: str(address)}


def is_ip(text: str) -> bool:
    return _holds(ip, text)


def ip_is_canonical(text: str) -> bool:
    return str(ip(text)[_IP]) == text


def _address(value: Tagged) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(value[_IP])


def family(value: Tagged) -> int:
    return _address(value).version


def is_unspecified(value: Tagged) -> bool:
    return _address(value).is_unspecified


def is_loopback(value: Tagged) -> bool:
    return _address(value).is_loopback


def is_link_local_multicast(value: Tagged) -> bool:
    networks = (ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16"))
    address = _address(value)
    return any(address.version == network.version and address in network for network in networks)


def is_link_local_unicast(value: Tagged) -> bool:
    address = _address(value)
    return address.is_link_local


def is_global_unicast(value: Tagged) -> bool:
    address = _address(value)
    broadcast = str(address) == "255.255.255.255"
    return not (
        address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local or broadcast
    )


def cidr(text: str) -> Tagged:
    try:
        if "/" not in text:
            raise ValueError(text)
        return {_CIDR: str(ipaddress.ip_interface(text))}
    except ValueError:
        raise ValueError(f'network address parse error during conversion from string: "{text}"') from None


def is_cidr(text: str) -> bool:
    return _holds(cidr, text)


def contains_ip(value: Tagged, other: Tagged | str) -> bool:
    address = _address(other if isinstance(other, dict) else ip(other))
    network = ipaddress.ip_interface(value[_CIDR]).network
    return address.version == network.version and address in network


def contains_cidr(value: Tagged, other: Tagged | str) -> bool:
    inner = ipaddress.ip_interface((other if isinstance(other, dict) else cidr(other))[_CIDR]).network
    outer = ipaddress.ip_interface(value[_CIDR]).network
    return inner.version == outer.version and inner.prefixlen >= outer.prefixlen and inner.network_address in outer


def cidr_ip(value: Tagged) -> Tagged:
    return {_IP: str(ipaddress.ip_interface(value[_CIDR]).ip)}


def masked(value: Tagged) -> Tagged:
    return {_CIDR: str(ipaddress.ip_interface(value[_CIDR]).network)}


def prefix_length(value: Tagged) -> int:
    return ipaddress.ip_interface(value[_CIDR]).network.prefixlen


def as_text(value: Tagged) -> str:
    """The text of an address or a network."""
    return str(value.get(_IP) or value.get(_CIDR) or "")


def url(text: str) -> Tagged:
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(f"URL parse error during conversion from string: parse {text!r}: invalid URI for request")
    return {_URL: text}


def is_url(text: str) -> bool:
    return _holds(url, text)


def url_part(part: str, value: Tagged) -> str:
    parts = urlsplit(value[_URL])
    match part:
        case "scheme":
            return parts.scheme
        case "host":
            return parts.netloc.rpartition("@")[2]
        case "hostname":
            return parts.hostname or ""
        case "port":
            return str(parts.port) if parts.port is not None else ""
    return parts.path


def url_query(value: Tagged) -> dict[str, list[str]]:
    return parse_qs(urlsplit(value[_URL]).query, keep_blank_values=True)


def _holds(make: Any, text: str) -> bool:
    try:
        make(text)
    except ValueError:
        return False
    return True
