"""`format.dns1123Label().validate(text)`: an optional list of complaints.

The engine cannot make optional values from Python, so the call is rewritten before compilation into an expression
that makes one from a plain list. Strings and other parts of the expression are left as they are.
"""

import re
from collections.abc import Callable

from karmada.api import name_rules
from karmada.apiserver.schema.formats import format_check

FUNCTION = "_format_problems"
_CALL = re.compile(r"""\bformat\.(?:(\w+)\(\)|named\(\s*["'](\w+)["']\s*\)\.value\(\))\.validate\(""")


def _prefix(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    return lambda text: rule(text[:-1] + "a" if text.endswith("-") else text)


def _schema_format(name: str, complaint: str) -> Callable[[str], list[str]]:
    check = format_check(name)
    assert check is not None
    return lambda text: [] if check(text) else [complaint]


_FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": name_rules.dns_label,
    "dns1123Subdomain": name_rules.dns_subdomain,
    "dns1035Label": name_rules.dns_1035_label,
    "dns1123LabelPrefix": _prefix(name_rules.dns_label),
    "dns1123SubdomainPrefix": _prefix(name_rules.dns_subdomain),
    "dns1035LabelPrefix": _prefix(name_rules.dns_1035_label),
    "qualifiedName": name_rules.label_key,
    "labelValue": name_rules.label_value,
    "uri": _schema_format("uri", "invalid URI for request"),
    "uuid": _schema_format("uuid", "does not match the UUID format"),
    "byte": _schema_format("byte", "invalid base64"),
    "date": _schema_format("date", "invalid date"),
    "datetime": _schema_format("datetime", "invalid datetime"),
}


def problems(name: str, text: str) -> list[str]:
    """What is wrong with a text in a named format."""
    if name not in _FORMATS:
        raise ValueError(f"format {name} does not exist")
    return _FORMATS[name](text)


def rewritten(expression: str) -> str:
    """The expression with calls of formats replaced."""
    while (match := _CALL.search(expression)) is not None:
        end = _closing(expression, match.end())
        if end < 0:
            return expression
        argument = expression[match.end() : end]
        call = f'optional.ofNonZeroValue({FUNCTION}("{match[1] or match[2]}", {argument}))'
        expression = expression[: match.start()] + call + expression[end + 1 :]
    return expression


def _closing(text: str, start: int) -> int:
    """Where the parenthesis opened before `start` closes; -1 when it does not."""
    depth, quote, position = 1, "", start
    while position < len(text):
        letter = text[position]
        if quote:
            if letter == "\\":
                position += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return -1
