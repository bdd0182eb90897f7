"""Formats of strings in custom schemas. Unknown formats are not checked."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from urllib.parse import urlsplit

_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")
_HOSTNAME = re.compile(
    r"(?=.{1,255}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?"
)
_EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_DURATION = re.compile(
    r"[-+]?(\d+(\.\d*)?|\.\d+)\s*(ns|us|µs|μs|ms|s|m|h|d|w|nanos?|micros?|millis?|seconds?|minutes?|hours?|days?|weeks?)(.*)"
)
_MAC = re.compile(
    r"([0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(\2[0-9A-Fa-f]{2}){4}(\2[0-9A-Fa-f]{2}){0,2})|([0-9A-Fa-f]{4}\.){2,3}[0-9A-Fa-f]{4}"
)
_COLOR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _date_time(text: str) -> object:
    if "T" not in text.upper() or datetime.fromisoformat(text).tzinfo is None:
        raise ValueError(text)
    return None


def _base64(text: str) -> object:
    return base64.b64decode(text, validate=True)


def _uri(text: str) -> bool:
    parts = urlsplit(text)
    return bool(parts.scheme) or text.startswith("/")


_CHECKS: dict[str, Callable[[str], bool]] = {
    "date": _parses(date.fromisoformat),
    "date-time": _parses(_date_time),
    "datetime": _parses(_date_time),
    "byte": _parses(_base64),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _parses(lambda text: ipaddress.ip_network(text, strict=False) if "/" in text else ipaddress.ip_network("")),
    "uri": _uri,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "uuid3": lambda text: _UUID.fullmatch(text) is not None and text.replace("-", "")[12] == "3",
    "uuid4": lambda text: _UUID.fullmatch(text) is not None and text.replace("-", "")[12] == "4",
    "uuid5": lambda text: _UUID.fullmatch(text) is not None and text.replace("-", "")[12] == "5",
    "hostname": lambda text: _HOSTNAME.fullmatch(text) is not None,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "duration": lambda text: text == "0" or _DURATION.fullmatch(text) is not None,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "hexcolor": lambda text: _COLOR.fullmatch(text) is not None,
    "bsonobjectid": lambda text: re.fullmatch("[0-9a-fA-F]{24}", text) is not None,
}


def format_check(name: str) -> Callable[[str], bool] | None:
    """The check of a format, None where it is not checked."""
    return _CHECKS.get(name)
