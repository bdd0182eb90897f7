"""What objects say, as a terminal may see it: anybody may have written it, and a terminal obeys what it is sent.

No text of an event, an annotation or a member moves the cursor, renames the window or hides what was printed before.
"""

_CARETS = {code: f"^{chr(code ^ 64)}" for code in (*range(32), 127) if chr(code) not in "\n\t"}
_CONTROLS = _CARETS | {ord("\r"): "\\r"} | {code: f"\\x{code:x}" for code in range(128, 160)}
"""Escape and carriage return are spelled as kubectl spells them."""


class Painted(str):
    """A text with escape sequences of our own in it, and nobody else's."""


def shown(text: str) -> str:
    """A text with its control characters spelled, but for the ends of lines and tabs."""
    return text if text.isprintable() or isinstance(text, Painted) else text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """A text with its control characters spelled, and blanks for the ends of its lines."""
    return " ".join(shown(text).split())
