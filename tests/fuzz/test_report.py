"""What a run of the fuzzer says of memory is what grew while its own inputs were decoded."""

import pytest
from tests.fuzz.__main__ import GROWTH, WARM, Report


def warm_report() -> Report:
    report = Report("decoder")
    for _ in range(WARM):
        report.took(0.0, 0.0, 1)
    return report


@pytest.mark.parametrize(("before", "fine"), [(True, False), (False, True)], ids=["its inputs", "what runs afterwards"])
def test_growth_is_held_against_a_decoder_only_when_it_comes_with(before: bool, fine: bool) -> None:
    report, grown = warm_report(), b""
    if before:
        grown = b"x" * (GROWTH + (8 << 20))
    report.print()
    if not before:
        grown = b"x" * (GROWTH + (8 << 20))
    assert report.ok() is fine, len(grown)
