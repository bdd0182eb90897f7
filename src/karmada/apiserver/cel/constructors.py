"""Constructors of typed objects in mutating policies, such as `Object{spec: Object.spec{replicas: 3}}`.

The engine has no such types: the constructors are rewritten to maps, which hold the same.
"""

import re

from karmada.api.caching import weighed_cache
from karmada.apiserver.cel.program import CHARACTERS

_TOKEN = re.compile(
    r"""(?P<string>r?\"\"\".*?\"\"\"|r?'''.*?'''|r?"(?:\\.|[^"\\])*"|r?'(?:\\.|[^'\\])*')"""
    r"""|(?P<type>(?:Object(?:\.\w+)*|JSONPatch)\s*\{)"""
    r"""|(?P<field>(?<![\w.])[A-Za-z_]\w*(?=\s*:(?!:)))"""
    r"""|(?P<open>[{(\[])|(?P<close>[})\]])""",
    re.DOTALL,
)


@weighed_cache(CHARACTERS, lambda _, expression: len(expression))
def untyped(expression: str) -> str:
    """The expression with constructors of objects rewritten to maps."""
    parts: list[str] = []
    inside: list[bool] = []
    """For each open bracket, whether its members are fields."""
    end = 0
    for token in _TOKEN.finditer(expression):
        parts.append(expression[end : token.start()])
        text = token.group()
        end = token.end()
        if token.lastgroup == "type":
            inside.append(True)
            text = "{"
        elif token.lastgroup == "open":
            inside.append(False)
        elif token.lastgroup == "close" and inside:
            inside.pop()
        elif token.lastgroup == "field" and inside and inside[-1]:
            text = f'"{text}"'
        parts.append(text)
    return "".join([*parts, expression[end:]])


@weighed_cache(CHARACTERS, lambda _, expression: len(expression))
def mismatches(expression: str) -> tuple[str, ...]:
    """Constructors whose type is not named after the fields they stand in; lists and maps between do not count."""
    found: list[str] = []
    expected: list[str | None] = []
    """For each open bracket, the type that an object in it must have; None where any may be."""
    own: list[str] = []
    """For each open bracket, the type of the object it is the constructor of; empty for others."""
    for token in _TOKEN.finditer(expression):
        if token.lastgroup == "type":
            name = token.group()[:-1].strip()
            wanted = expected[-1] if expected else None
            if wanted is not None and name != wanted:
                root = wanted.partition(".")[0]
                found.append(
                    f'unexpected type name "{name}", expected "{wanted}", which matches field name path from root '
                    f"{root} type"
                )
            own.append(name)
            expected.append(None)
        elif token.lastgroup == "open":
            own.append("")
            expected.append(expected[-1] if expected else None)
        elif token.lastgroup == "close" and own:
            own.pop()
            expected.pop()
        elif token.lastgroup == "field" and own and own[-1].startswith("Object"):
            expected[-1] = f"{own[-1]}.{token.group()}"
    return tuple(found)
