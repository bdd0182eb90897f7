"""What operators and functions take and return, for checking types before anything is evaluated.

A line reads `name(parameters) result`; of a method the receiver is the first parameter. Parameters of one capital
letter are any type, the same wherever it stands in a line; names of types that begin with one are the API server's.
"""

import re
from functools import cache
from typing import NamedTuple

from karmada.apiserver.cel import named_formats, two_variables
from karmada.apiserver.cel.types import Type

_NUMBERS = ("int", "uint", "double")
_ORDERED = (*_NUMBERS, "bool", "duration", "timestamp", "string", "bytes")
_SUMMED = (*_NUMBERS, "duration")
_ORDERINGS = ("_<_", "_<=_", "_>_", "_>=_")
_MIXED = tuple(f"{one}, {other}" for one in _NUMBERS for other in _NUMBERS if one != other)
_OF_DATES = ("FullYear", "Month", "DayOfMonth", "Date", "DayOfWeek", "DayOfYear")
_OF_TIMES = ("Hours", "Minutes", "Seconds", "Milliseconds")
_PARTS_OF_URLS = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
_OF_ADDRESSES = ("Unspecified", "Loopback", "LinkLocalMulticast", "LinkLocalUnicast", "GlobalUnicast")

_LANGUAGE: tuple[str, ...] = (
    "_&&_(bool, bool) bool",
    "_||_(bool, bool) bool",
    "!_(bool) bool",
    "@not_strictly_false(bool) bool",
    "_?_:_(bool, T, T) T",
    "_==_(T, T) bool",
    "_!=_(T, T) bool",
    "@in(T, list<T>) bool",
    "@in(T, map<T, V>) bool",
    "_[_](list<T>, int) T",
    "_[_](map<T, V>, T) V",
    *(f"{operator}({kind}, {kind}) bool" for operator in _ORDERINGS for kind in _ORDERED),
    *(f"{operator}({kinds}) bool" for operator in _ORDERINGS for kinds in _MIXED),
    *(f"{operator}({kind}, {kind}) {kind}" for operator in ("_-_", "_*_", "_/_") for kind in _NUMBERS),
    *(f"_+_({kind}, {kind}) {kind}" for kind in (*_NUMBERS, "string", "bytes", "duration", "list<T>")),
    "_+_(timestamp, duration) timestamp",
    "_+_(duration, timestamp) timestamp",
    "_-_(timestamp, timestamp) duration",
    "_-_(timestamp, duration) timestamp",
    "_-_(duration, duration) duration",
    "_%_(int, int) int",
    "_%_(uint, uint) uint",
    "-_(int) int",
    "-_(double) double",
    *(f"size({kind}) int" for kind in ("string", "bytes", "list<T>", "map<T, V>")),
    "type(T) type",
    "dyn(T) dyn",
    *(f"int({kind}) int" for kind in (*_NUMBERS, "string", "timestamp")),
    *(f"uint({kind}) uint" for kind in (*_NUMBERS, "string")),
    *(f"double({kind}) double" for kind in (*_NUMBERS, "string")),
    *(f"string({kind}) string" for kind in (*_ORDERED, "IP", "CIDR")),
    "bool(bool) bool",
    "bool(string) bool",
    "bytes(bytes) bytes",
    "bytes(string) bytes",
    *(f"timestamp({kind}) timestamp" for kind in ("string", "int", "timestamp")),
    *(f"duration({kind}) duration" for kind in ("string", "int", "duration")),
    *(f"{name}(string, string) bool" for name in ("contains", "startsWith", "endsWith", "matches")),
    *(f"get{part}(timestamp) int" for part in (*_OF_DATES, *_OF_TIMES)),
    *(f"get{part}(timestamp, string) int" for part in (*_OF_DATES, *_OF_TIMES)),
    *(f"get{part}(duration) int" for part in _OF_TIMES),
    "optional.of(T) optional_type<T>",
    "optional.ofNonZeroValue(T) optional_type<T>",
    "optional.none() optional_type<T>",
    "value(optional_type<T>) T",
    "hasValue(optional_type<T>) bool",
    "or(optional_type<T>, optional_type<T>) optional_type<T>",
    "orValue(optional_type<T>, T) T",
    "_[?_](list<T>, int) optional_type<T>",
    "_[?_](optional_type<list<T>>, int) optional_type<T>",
    "_[?_](map<T, V>, T) optional_type<V>",
    "_[?_](optional_type<map<T, V>>, T) optional_type<V>",
    "_[_](optional_type<list<T>>, int) optional_type<T>",
    "_[_](optional_type<map<T, V>>, T) optional_type<V>",
    "cel.@mapInsert(map<T, V>, T, V) map<T, V>",
    "cel.@mapInsert(map<T, V>, map<T, V>) map<T, V>",
)
_LIBRARIES: tuple[str, ...] = (
    "charAt(string, int) string",
    "indexOf(string, string) int",
    "indexOf(string, string, int) int",
    "indexOf(list<T>, T) int",
    "lastIndexOf(string, string) int",
    "lastIndexOf(string, string, int) int",
    "lastIndexOf(list<T>, T) int",
    "lowerAscii(string) string",
    "upperAscii(string) string",
    "replace(string, string, string) string",
    "replace(string, string, string, int) string",
    "split(string, string) list<string>",
    "split(string, string, int) list<string>",
    "substring(string, int) string",
    "substring(string, int, int) string",
    "trim(string) string",
    "format(string, list<dyn>) string",
    "join(list<string>) string",
    "join(list<string>, string) string",
    "strings.quote(string) string",
    "find(string, string) string",
    "findAll(string, string) list<string>",
    "findAll(string, string, int) list<string>",
    *(f"isSorted(list<{kind}>) bool" for kind in _ORDERED),
    *(f"sum(list<{kind}>) {kind}" for kind in _SUMMED),
    *(f"{name}(list<{kind}>) {kind}" for name in ("min", "max") for kind in _ORDERED),
    *(f"sort(list<{kind}>) list<{kind}>" for kind in _ORDERED),
    "distinct(list<T>) list<T>",
    "slice(list<T>, int, int) list<T>",
    "flatten(list<list<T>>) list<T>",
    "flatten(list<dyn>, int) list<dyn>",
    "reverse(list<T>) list<T>",
    "lists.range(int) list<int>",
    "first(list<T>) optional_type<T>",
    "last(list<T>) optional_type<T>",
    *(f"sets.{name}(list<T>, list<T>) bool" for name in ("contains", "equivalent", "intersects")),
    "quantity(string) Quantity",
    "isQuantity(string) bool",
    "sign(Quantity) int",
    "isInteger(Quantity) bool",
    "asInteger(Quantity) int",
    "asApproximateFloat(Quantity) double",
    *(f"{name}(Quantity, {other}) Quantity" for name in ("add", "sub") for other in ("Quantity", "int")),
    *(f"compareTo({kind}, {kind}) int" for kind in ("Quantity", "Semver")),
    *(f"{name}({kind}, {kind}) bool" for kind in ("Quantity", "Semver") for name in ("isLessThan", "isGreaterThan")),
    "semver(string) Semver",
    "semver(string, bool) Semver",
    "isSemver(string) bool",
    "isSemver(string, bool) bool",
    *(f"{name}(Semver) int" for name in ("major", "minor", "patch")),
    "ip(string) IP",
    "isIP(string) bool",
    "ip.isCanonical(string) bool",
    "family(IP) int",
    *(f"is{name}(IP) bool" for name in _OF_ADDRESSES),
    "cidr(string) CIDR",
    "isCIDR(string) bool",
    *(f"containsIP(CIDR, {kind}) bool" for kind in ("string", "IP")),
    *(f"containsCIDR(CIDR, {kind}) bool" for kind in ("string", "CIDR")),
    "ip(CIDR) IP",
    "masked(CIDR) CIDR",
    "prefixLength(CIDR) int",
    "url(string) URL",
    "isURL(string) bool",
    *(f"{name}(URL) string" for name in _PARTS_OF_URLS),
    "getQuery(URL) map<string, list<string>>",
    f"{named_formats.FUNCTION}(string, string) list<string>",
    f"{two_variables.KEYS}(list<T>) list<int>",
    f"{two_variables.KEYS}(map<T, V>) list<T>",
    f"{two_variables.ENTRIES}(list<dyn>) map<dyn, dyn>",
    f"{two_variables.MERGED}(list<dyn>) map<dyn, dyn>",
    *(f"{two_variables.SORTED}(list<{kind}>) list<int>" for kind in _ORDERED),
)
_SIGNATURE = re.compile(r"(\S+?)\((.*)\) (\S.*)")


class Signature(NamedTuple):
    """What one form of a function takes and returns."""

    parameters: tuple[Type, ...]
    result: Type


def type_named(text: str) -> Type:
    """A type as signatures write it, such as `map<string, list<int>>`."""
    if not text.endswith(">"):
        return Type(text)
    name, _, inner = text[:-1].partition("<")
    return Type(name, tuple(map(type_named, _split(inner))))


def _split(text: str) -> list[str]:
    """Types that commas separate, but for commas inside of one."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


@cache
def signatures() -> dict[str, list[Signature]]:
    """All forms of every function, by its name."""
    made: dict[str, list[Signature]] = {}
    for line in (*_LANGUAGE, *_LIBRARIES):
        match = _SIGNATURE.fullmatch(line)
        assert match is not None, line
        name, parameters, result = match.groups()
        made.setdefault(name, []).append(Signature(tuple(map(type_named, _split(parameters))), type_named(result)))
    return made
