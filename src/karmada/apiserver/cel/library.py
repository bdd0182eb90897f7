"""Declares the functions of `text` and `values` to the CEL engine.

A signature reads `name(parameters) result`, `.name(…)` for methods whose receiver is the first parameter. The engine
wants concrete parameter types at run time, hence one line per type where CEL would allow any.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from karmada.apiserver.cel import named_formats, text, two_variables, values

SPELLED = "_spelled"
"""Makes a text of an address or a network."""
_SCALARS = ("string", "int", "double", "bool")

_FUNCTIONS: list[tuple[str, Callable[..., Any]]] = [
    (".charAt(string, int) string", text.char_at),
    (".indexOf(string, string) int", text.index_of),
    (".indexOf(string, string, int) int", text.index_from),
    *((f".indexOf(list, {kind}) int", text.index_of) for kind in _SCALARS),
    (".lastIndexOf(string, string) int", text.last_index_of),
    (".lastIndexOf(string, string, int) int", text.last_index_before),
    *((f".lastIndexOf(list, {kind}) int", text.last_index_of) for kind in _SCALARS),
    (".lowerAscii(string) string", text.lower_ascii),
    (".upperAscii(string) string", text.upper_ascii),
    (".replace(string, string, string) string", text.replace),
    (".replace(string, string, string, int) string", text.replace),
    (".split(string, string) list", text.split),
    (".split(string, string, int) list", text.split),
    (".substring(string, int) string", text.substring),
    (".substring(string, int, int) string", text.substring),
    (".trim(string) string", text.trim),
    (".format(string, list) string", text.format_text),
    (".join(list) string", text.join),
    (".join(list, string) string", text.join),
    (".reverse(string) string", text.reverse),
    (".reverse(list) list", text.reverse),
    ("strings.quote(string) string", text.quote),
    (".find(string, string) string", text.find),
    (".findAll(string, string) list", text.find_all),
    (".findAll(string, string, int) list", text.find_all),
    (".isSorted(list) bool", text.is_sorted),
    (".sum(list) dyn", text.total),
    (".min(list) dyn", text.smallest),
    (".max(list) dyn", text.largest),
    (".distinct(list) list", text.distinct),
    (".slice(list, int, int) list", text.part_of),
    (".flatten(list) list", text.flatten),
    ("lists.range(int) ints", text.numbers_below),
    (".sort(list) list", text.sorted_list),
    ("sets.contains(list, list) bool", text.contains_all),
    ("sets.equivalent(list, list) bool", text.equivalent),
    ("sets.intersects(list, list) bool", text.intersects),
    ("quantity(string) dyn", values.quantity),
    ("isQuantity(string) bool", values.is_quantity),
    (".isInteger(map) bool", values.is_integer),
    (".asInteger(map) int", values.as_integer),
    (".asApproximateFloat(map) double", values.as_float),
    ("sign(map) int", values.sign),
    (".add(map, map) dyn", values.add),
    (".add(map, int) dyn", values.add_integer),
    (".sub(map, map) dyn", values.sub),
    (".sub(map, int) dyn", values.sub_integer),
    (".compareTo(map, map) int", values.compare),
    (".isLessThan(map, map) bool", lambda left, right: values.compare(left, right) < 0),
    (".isGreaterThan(map, map) bool", lambda left, right: values.compare(left, right) > 0),
    ("semver(string) dyn", values.semver),
    ("isSemver(string) bool", values.is_semver),
    ("semver(string, bool) dyn", values.lenient_semver),
    ("isSemver(string, bool) bool", values.is_lenient_semver),
    (".major(map) int", partial(values.semver_part, 1)),
    (".minor(map) int", partial(values.semver_part, 2)),
    (".patch(map) int", partial(values.semver_part, 3)),
    ("ip(string) dyn", values.ip),
    ("isIP(string) bool", values.is_ip),
    ("ip.isCanonical(string) bool", values.ip_is_canonical),
    (".family(map) int", values.family),
    (".isUnspecified(map) bool", values.is_unspecified),
    (".isLoopback(map) bool", values.is_loopback),
    (".isLinkLocalMulticast(map) bool", values.is_link_local_multicast),
    (".isLinkLocalUnicast(map) bool", values.is_link_local_unicast),
    (".isGlobalUnicast(map) bool", values.is_global_unicast),
    ("cidr(string) dyn", values.cidr),
    ("isCIDR(string) bool", values.is_cidr),
    (".containsIP(map, map) bool", values.contains_ip),
    (".containsIP(map, string) bool", values.contains_ip),
    (".containsCIDR(map, map) bool", values.contains_cidr),
    (".containsCIDR(map, string) bool", values.contains_cidr),
    (".ip(map) dyn", values.cidr_ip),
    (".masked(map) dyn", values.masked),
    (".prefixLength(map) int", values.prefix_length),
    (f"{SPELLED}(map) string", values.as_text),
    ("url(string) dyn", values.url),
    ("isURL(string) bool", values.is_url),
    (".getScheme(map) string", partial(values.url_part, "scheme")),
    (".getHost(map) string", partial(values.url_part, "host")),
    (".getHostname(map) string", partial(values.url_part, "hostname")),
    (".getPort(map) string", partial(values.url_part, "port")),
    (".getEscapedPath(map) string", partial(values.url_part, "path")),
    (".getQuery(map) dyn", values.url_query),
    (f"{two_variables.KEYS}(list) ints", two_variables.keys),
    (f"{two_variables.KEYS}(map) list", two_variables.keys),
    (f"{two_variables.ENTRIES}(list) map", two_variables.entries),
    (f"{two_variables.MERGED}(list) map", two_variables.merged),
    (f"{two_variables.SORTED}(list) ints", two_variables.sorted_places),
    (f"{named_formats.FUNCTION}(string, string) list", named_formats.problems),
]

_SIGNATURE = re.compile(r"(\.?)([\w.]+)\(([^)]*)\) (\w+)")


def declarations(cel: Any) -> list[Any]:
    """The declarations for an environment of the engine, given as its module."""
    kinds = {
        "bool": cel.Type.BOOL,
        "double": cel.Type.DOUBLE,
        "dyn": cel.Type.DYN,
        "int": cel.Type.INT,
        "ints": cel.Type.List(cel.Type.INT),
        "list": cel.Type.List(cel.Type.DYN),
        "map": cel.Type.Map(cel.Type.DYN, cel.Type.DYN),
        "string": cel.Type.STRING,
    }
    overloads: dict[str, list[Any]] = {}
    for signature, function in _FUNCTIONS:
        match = _SIGNATURE.fullmatch(signature)
        assert match is not None, signature
        member, name, parameters, result = match.groups()
        types = [kinds[kind] for kind in parameters.split(", ")]
        overload = cel.Overload(signature, kinds[result], types, is_member=bool(member), impl=function)
        overloads.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, found) for name, found in overloads.items()]
