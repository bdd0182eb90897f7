"""What a run of the fuzzer says of memory is what grew while its own inputs were decoded."""

from tests.fuzz.__main__ import GROWTH, WARM, Report

TOO_MUCH = GROWTH + (8 << 20)


def warm_report() -> Report:
    report = Report("decoder")
    for _ in range(WARM):
        report.took(0.0, 0.0, 1)
    return report


def test_growth_that_comes_with_inputs_is_held_against_their_decoder() -> None:
    report = warm_report()
    grown = b"x" * TOO_MUCH
    report.print()
    assert not report.ok(), len(grown)


def test_growth_that_comes_afterwards_is_not() -> None:
    report = warm_report()
    report.print()
    grown = b"x" * TOO_MUCH
    assert report.ok(), len(grown)
