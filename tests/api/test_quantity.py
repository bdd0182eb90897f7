from decimal import Decimal
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.api.go_text import format_float
from karmada.api.quantity import ZERO, Format, Quantity, QuantityError

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "e3", "E6", "e-3"]
texts = st.builds(
    lambda sign, whole, fraction, suffix: f"{sign}{whole}{fraction}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**6),
    st.sampled_from(["", ".5", ".125", ".", ".001"]),
    st.sampled_from(SUFFIXES),
)
quantities = texts.map(Quantity.parse)


def exact(quantity: Quantity) -> Decimal:
    return Decimal(quantity.unscaled).scaleb(quantity.exponent)


@given(quantities)
def test_spelling_reads_back_as_the_same_amount(quantity: Quantity) -> None:
    assert Quantity.parse(str(quantity)) == quantity


@given(quantities)
def test_canonical_spelling_is_stable(quantity: Quantity) -> None:
    canonical = str(quantity + ZERO)
    assert str(Quantity.parse(canonical) + ZERO) == canonical


@given(quantities, quantities)
def test_sums_and_differences_are_exact(left: Quantity, right: Quantity) -> None:
    assert exact(left + right) == exact(left) + exact(right)
    assert left + right == right + left
    assert left + right - right == left


@given(quantities, quantities)
def test_order_is_the_order_of_the_amounts(left: Quantity, right: Quantity) -> None:
    assert (left < right) == (exact(left) < exact(right))
    assert (left == right) == (exact(left) == exact(right))
    if left == right:
        assert hash(left) == hash(right)


@given(quantities)
def test_whole_units_are_rounded_up(quantity: Quantity) -> None:
    if 0 <= exact(quantity) < 2**63 and not quantity.is_wide:
        assert quantity.value() == ceil(exact(quantity))


@pytest.mark.parametrize("number", [0, 5, -3, 1.5, 2.0, 1e21, 1e-5], ids=str)
def test_json_numbers_are_quantities(number: float) -> None:
    assert Quantity.parse(number).approximate_float() == pytest.approx(number)


@pytest.mark.parametrize(
    "text", ["", "1 Gi", "abc", "1e", "1K", "1Mi1", "1e99999999999", "9" * 300, "٣", "1" * 30 + "e9999999"]
)
def test_bad_text_is_named(text: str) -> None:
    with pytest.raises(QuantityError) as raised:
        Quantity.parse(text)
    assert raised.value.text[:20] in repr(text)


def test_sum_of_absurdly_different_magnitudes_is_refused() -> None:
    with pytest.raises(QuantityError):
        Quantity.parse("1e2000000000") + Quantity.parse("1")
    assert Quantity.parse("1e2000000000") > Quantity.parse("1")
    assert Quantity.parse("-1e2000000000") < Quantity.parse("1n")


def test_a_number_without_digits_is_zero_only_where_kubernetes_lets_it() -> None:
    assert not Quantity.parse("e3")
    with pytest.raises(QuantityError, match="numeric part"):
        Quantity.parse("e-12")


def test_zero_is_a_whole_number_at_any_scale() -> None:
    assert Quantity.parse("0e20").as_int64() == 0


def test_zero_takes_the_format_of_what_is_added() -> None:
    assert str(ZERO + Quantity.parse("1Gi")) == "1Gi"
    assert (ZERO + Quantity.parse("1Gi")).format is Format.BINARY_SI


def test_amounts_above_the_largest_suffix_keep_their_value() -> None:
    assert str(Quantity.parse("1000E")) == "1000E"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (1e6, "1e+06"), (999999.0, "999999"), (0.0001, "0.0001"), (0.00001, "1e-05"), (-1.5, "-1.5")],
)
def test_floats_are_printed_as_go_prints_them(number: float, text: str) -> None:
    assert format_float(number) == text
