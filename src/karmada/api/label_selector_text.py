"""The grammar of label selectors in their string form: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5`."""

import re

from karmada.api import field_errors
from karmada.api.label_requirements import SETS, LabelSelectorError, Operator, Requirement, key_errors, requirement_of

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n]+)|$)")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_BINARY = {
    operator.value: operator for operator in Operator if operator not in (Operator.EXISTS, Operator.DOES_NOT_EXIST)
}
_BINARY_NAMES = "in, notin, =, ==, !=, gt, lt"


class Parser:
    """Recursive descent over tokens; an empty token ends the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [match.group(1) or match.group(2) or "" for match in _TOKEN.finditer(text)]
        if not self.tokens or self.tokens[-1]:
            self.tokens.append("")
        self.position = 0

    def peek(self) -> str:
        return self.tokens[min(self.position, len(self.tokens) - 1)]

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def error(self, message: str) -> LabelSelectorError:
        return LabelSelectorError(message, self.text)

    def requirements(self) -> list[Requirement]:
        """All requirements of the text; raises `LabelSelectorError`."""
        found: list[Requirement] = []
        while self.peek():
            if self.peek() in _SYMBOLS and self.peek() != "!":
                raise self.error(f"found '{self.peek()}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except LabelSelectorError as error:
                raise self.error(f"unable to parse requirement: {error}") from error
            separator = self.take()
            if not separator:
                break
            if separator != ",":
                raise self.error(f"found '{separator}', expected: ',' or 'end of string'")
            if not self.peek() or (self.peek() in _SYMBOLS and self.peek() != "!"):
                raise self.error(f"found '{self.peek()}', expected: identifier after ','")
        return found

    def requirement(self) -> Requirement:
        absent = self.peek() == "!"
        if absent:
            self.take()
        key = self.take()
        if not key or key in _SYMBOLS:
            raise self.error(f"found '{key}', expected: identifier")
        # The API server has no field to name at this point, and says so.
        if errors := key_errors(key, "<nil>"):
            raise self.error(field_errors.aggregate(errors))
        if absent or self.peek() in ("", ","):
            return requirement_of(key, Operator.DOES_NOT_EXIST if absent else Operator.EXISTS, ())
        name = self.take()
        operator = _BINARY.get(name)
        if operator is None:
            raise self.error(f"found '{name}', expected: {_BINARY_NAMES}")
        values = self.value_set() if operator in SETS else [self.value()]
        return requirement_of(key, operator, values)

    def value(self) -> str:
        if self.peek() in ("", ","):
            return ""
        value = self.take()
        if value in _SYMBOLS:
            raise self.error(f"found '{value}', expected: identifier")
        return value

    def value_set(self) -> list[str]:
        opening = self.take()
        if opening != "(":
            raise self.error(f"found '{opening}' expected: '('")
        values = [""]
        while (token := self.take()) != ")":
            if token == ",":
                values.append("")
            elif not token or token in _SYMBOLS or values[-1]:
                first = "',', ')' or identifier" if len(values) == 1 else "',', or identifier"
                expected = "',' or ')'" if values[-1] else first
                raise self.error(f"found '{token}', expected: {expected}")
            else:
                values[-1] = token
        return values
