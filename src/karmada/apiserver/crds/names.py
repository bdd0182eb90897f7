"""Field names as expressions write them: what is no identifier, or a word of the language, is escaped."""

import re

_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def escaped(name: str) -> str:
    """The name of a field in expressions; itself where there is none."""
    if name in _RESERVED:
        return f"__{name}__"
    text = name.replace("__", "__underscores__").replace(".", "__dot__").replace("-", "__dash__")
    text = text.replace("/", "__slash__")
    return text if _WORD.fullmatch(text) else name


def expressible(name: str) -> str:
    """The name of a field in expressions; empty where they cannot name it."""
    text = escaped(name)
    return text if _WORD.fullmatch(text) else ""
