"""Kubernetes quantities: exact numbers with the spelling that Kubernetes gives them.

A quantity is `unscaled * 10**exponent` plus the family of suffixes it is written with. Arithmetic is exact and never
loses digits; only `value`, `milli_value` and `scaled` round, always so that some remains of a non-zero amount.

Kubernetes keeps small amounts in a 64-bit integer and others in a decimal, and the two round and overflow differently.
Programs compare the results, so `is_wide` remembers which of the two Kubernetes would hold. It never affects the value.

Parsed quantities are shared (`parse` is cached) and immutable.
"""

import re
from enum import Enum
from functools import lru_cache, total_ordering


class QuantityError(ValueError):
    """Text that is no quantity, or an operation on one that is out of bounds; `text` is the offender."""

    def __init__(self, reason: str, text: str) -> None:
        self.reason = reason
        self.text = text
        super().__init__(f"{reason}: {text!r}")


class Format(Enum):
    """Families of suffixes."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"
TOO_LARGE = "quantity is out of bounds"

_NANO = -9
_EXA = 18
_MAX_INT64 = 2**63 - 1
_MIN_INT64 = -(2**63)
# Beyond these many digits a quantity is an attack, not an amount.
_MAX_DIGITS = 3_000
_MAX_TEXT = 256

# More lenient than the expression in the message, as Kubernetes is: "Ki" and "." are zero.
_SHAPE = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]{1,10})", re.ASCII)
_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX_OF = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIX_OF = ["", *_BINARY_SUFFIXES]


@total_ordering
class Quantity:
    """An exact amount. Equality, order and hash look at the amount only, not at its spelling."""

    __slots__ = ("_text", "exponent", "format", "is_wide", "unscaled")

    def __init__(
        self,
        unscaled: int,
        exponent: int = 0,
        format: Format = Format.DECIMAL_SI,
        *,
        is_wide: bool = False,
        text: str = "",
    ) -> None:
        self.unscaled = unscaled
        self.exponent = exponent
        self.format = format
        self.is_wide = is_wide or not _MIN_INT64 <= unscaled <= _MAX_INT64
        self._text = text

    @staticmethod
    def parse(text: str | int | float) -> "Quantity":
        """Read a quantity as it stands in JSON: a string or a number."""
        return _parse(text if isinstance(text, str) else _number_text(text))

    @staticmethod
    def milli(amount: int) -> "Quantity":
        return Quantity(amount, -3)

    def __str__(self) -> str:
        if not self._text:
            self._text = _spell(self)
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self.compare(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        return hash(_without_factors_of_ten(self.unscaled, self.exponent))

    def __add__(self, other: "Quantity") -> "Quantity":
        format = self.format if self.unscaled else other.format
        narrow = not (self.is_wide or other.is_wide)
        if narrow and not other.unscaled:
            return Quantity(self.unscaled, self.exponent, format)
        if narrow and not self.unscaled:
            return Quantity(other.unscaled, other.exponent, format)
        left, right, exponent = _aligned(self, other)
        if narrow and not (_fits_int64(left) and _fits_int64(right)):
            narrow = False
        return Quantity(left + right, exponent, format, is_wide=not narrow)

    def __neg__(self) -> "Quantity":
        return Quantity(-self.unscaled, self.exponent, self.format, is_wide=self.is_wide)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self + -other

    def __mul__(self, factor: int) -> "Quantity":
        return Quantity(self.unscaled * factor, self.exponent, self.format, is_wide=self.is_wide)

    def compare(self, other: "Quantity") -> int:
        """-1, 0 or 1."""
        if self.exponent == other.exponent:
            left, right = self.unscaled, other.unscaled
        elif _magnitude(self) != _magnitude(other):
            left, right = _magnitude(self), _magnitude(other)
        else:
            left, right, _ = _aligned(self, other)
        return (left > right) - (left < right)

    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    def value(self) -> int:
        """Whole units, rounded up; 64-bit overflow as in Kubernetes."""
        return self.scaled(0)

    def milli_value(self) -> int:
        """Thousandths, rounded up; 64-bit overflow as in Kubernetes."""
        return self.scaled(-3)

    def scaled(self, exponent: int) -> int:
        """The amount in units of `10**exponent`, rounded up; 64-bit overflow as in Kubernetes."""
        step = self.exponent - exponent
        if self.is_wide:
            return _wide_scaled(self.unscaled, step)
        return _narrow_scaled(self.unscaled, step)

    def as_int64(self) -> int | None:
        """The exact amount where Kubernetes has a quick conversion, which it has not for every whole number."""
        if self.is_wide or self.exponent < 0 or (self.unscaled and self.exponent > _EXA):
            return None
        if not self.unscaled:
            return 0
        amount = self.unscaled * 10**self.exponent
        return amount if _fits_int64(amount) else None

    def approximate_float(self) -> float:
        """Nearby float, infinite when out of range."""
        try:
            return float(self.unscaled) * float(f"1e{self.exponent}")
        except OverflowError:
            return float("inf") * self.sign()


ZERO = Quantity(0, text="0")


def _number_text(number: int | float) -> str:
    # repr of a float writes 1e+16 and 1e-05, both of which are quantities; a whole float loses its ".0".
    return str(int(number)) if isinstance(number, float) and number.is_integer() else repr(number)


@lru_cache(maxsize=16384)
def _parse(text: str) -> Quantity:
    if len(text) > _MAX_TEXT:
        raise QuantityError(TOO_LARGE, f"{text[:32]}... ({len(text)} characters)")
    shape = _SHAPE.fullmatch(text)
    if shape is None or not text:
        raise QuantityError(WRONG_FORMAT, text)
    sign, whole, fraction, suffix = shape.group(1), shape.group(2) or "0", shape.group(3) or "", shape.group(4)
    if suffix in _BINARY_SUFFIXES:
        return _parse_binary(text, sign == "-", whole, fraction, _BINARY_SUFFIXES[suffix])
    if suffix in _DECIMAL_SUFFIXES:
        return _parse_decimal(text, sign == "-", whole, fraction, _DECIMAL_SUFFIXES[suffix], Format.DECIMAL_SI)
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None:
        raise QuantityError(WRONG_SUFFIX, text)
    return _parse_decimal(text, sign == "-", whole, fraction, int(exponent.group(1)), Format.DECIMAL_EXPONENT)


def _parse_decimal(text: str, negative: bool, whole: str, fraction: str, exponent: int, format: Format) -> Quantity:
    digits = whole + fraction
    unscaled = -int(digits) if negative else int(digits)
    exponent -= len(fraction)
    if len(digits) <= 18 and exponent >= _NANO:
        canonical = exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        return Quantity(unscaled, exponent, format, text=text if canonical else "")
    return _in_nanos(text, unscaled, exponent, format)


def _parse_binary(text: str, negative: bool, whole: str, fraction: str, power: int) -> Quantity:
    digits = whole + fraction
    unscaled = int(digits) << power
    if not fraction and len(whole) + power * 3 // 10 < 15:
        # With a factor of eight in the number it may have a shorter spelling.
        canonical = int(whole) & 7 != 0
        return Quantity(-unscaled if negative else unscaled, 0, Format.BINARY_SI, text=text if canonical else "")
    if unscaled > _MAX_INT64 * 10 ** len(fraction):
        return Quantity(-_MAX_INT64 if negative else _MAX_INT64, 0, Format.BINARY_SI, is_wide=True)
    below_one = 0 < unscaled < 10 ** len(fraction)
    format = Format.DECIMAL_SI if below_one else Format.BINARY_SI
    return _in_nanos(text, -unscaled if negative else unscaled, -len(fraction), format)


def _in_nanos(text: str, unscaled: int, exponent: int, format: Format) -> Quantity:
    """Round away from zero to billionths: whoever asks for too little still gets something."""
    if not any(character.isdigit() for character in re.split("[a-zA-Z]", text, maxsplit=1)[0]):
        raise QuantityError(WRONG_NUMBER, text)
    if not unscaled:
        return Quantity(0, exponent, format, is_wide=True)
    step = exponent - _NANO
    if step > _MAX_DIGITS:
        raise QuantityError(TOO_LARGE, text)
    if step < -_MAX_DIGITS:
        nanos = 1 if unscaled > 0 else -1
    else:
        nanos = unscaled * 10**step if step >= 0 else _away_from_zero(unscaled, 10**-step)
    return Quantity(nanos, _NANO, format, is_wide=True)


def _power_of_ten(exponent: int) -> int:
    # A negative exponent would make this a float, so the type of ** is open.
    power: int = 10**exponent
    return power


def _fits_int64(number: int) -> bool:
    return _MIN_INT64 <= number <= _MAX_INT64


def _wrap_int64(number: int) -> int:
    return (number - _MIN_INT64) % 2**64 + _MIN_INT64


def _away_from_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number > 0 else number // divisor


def _narrow_scaled(unscaled: int, step: int) -> int:
    if step < 0:
        if step < -_EXA:
            return (unscaled > 0) - (unscaled < 0)
        return _away_from_zero(unscaled, _power_of_ten(-step))
    if step > _EXA:
        return 0
    scaled = unscaled * _power_of_ten(step)
    if _fits_int64(scaled):
        return scaled
    # Kubernetes multiplies at once by these powers and notices too late; the others it tries digit by digit.
    return _wrap_int64(scaled) if step in (1, 2, 3, 6, 9) else 0


def _wide_scaled(unscaled: int, step: int) -> int:
    if step == 0:
        return _wrap_int64(unscaled)
    if step > 0:
        return _wrap_int64(unscaled * _power_of_ten(step)) if step <= _EXA else 0
    divisor = _power_of_ten(-step)
    if unscaled < _MAX_INT64 and step >= -_EXA:
        # Division that truncates towards zero, after which one is added whatever the sign was.
        number = _wrap_int64(unscaled)
        quotient = abs(number) // divisor * (1 if number > 0 else -1)
        return quotient + (number % divisor != 0)
    return _wrap_int64(-(-unscaled // divisor))


def _aligned(left: Quantity, right: Quantity) -> tuple[int, int, int]:
    exponent = min(left.exponent, right.exponent)
    if max(left.exponent, right.exponent) - exponent > _MAX_DIGITS:
        raise QuantityError(TOO_LARGE, f"{left} and {right}")
    return (
        left.unscaled * 10 ** (left.exponent - exponent),
        right.unscaled * 10 ** (right.exponent - exponent),
        exponent,
    )


def _magnitude(quantity: Quantity) -> int:
    """Signed position of the leading digit, in an order that agrees with the order of amounts."""
    if not quantity.unscaled:
        return 0
    # Shifted far enough that a leading digit behind the point keeps a positive position.
    position = len(str(abs(quantity.unscaled))) + quantity.exponent + 2**40
    return position if quantity.unscaled > 0 else -position


def _without_factors_of_ten(unscaled: int, exponent: int) -> tuple[int, int]:
    if not unscaled:
        return 0, 0
    while unscaled % 10 == 0:
        unscaled //= 10
        exponent += 1
    return unscaled, exponent


def _spell(quantity: Quantity) -> str:
    """The canonical spelling: no fraction, the largest suffix that allows it."""
    if not quantity.unscaled:
        return "0"
    if quantity.format is Format.BINARY_SI and abs(quantity.unscaled) * 10 ** max(quantity.exponent, 0) >= 1024:
        units, exponent = _without_factors_of_ten(quantity.unscaled, quantity.exponent)
        if exponent >= 0 and abs(units := units * 10**exponent) >= 1024:
            power = 0
            while units % 1024 == 0 and power < 6:
                units //= 1024
                power += 1
            return f"{units}{_BINARY_SUFFIX_OF[power]}"
    number, exponent = _without_factors_of_ten(quantity.unscaled, quantity.exponent)
    number, exponent = number * 10 ** (exponent % 3), exponent - exponent % 3
    if quantity.format is Format.DECIMAL_EXPONENT:
        return f"{number}e{exponent}" if exponent else str(number)
    if exponent > _EXA:
        number, exponent = number * 10 ** (exponent - _EXA), _EXA
    return f"{number}{_DECIMAL_SUFFIX_OF[exponent]}"
