"""Values over time as bars."""

import pytest

from karmada.cli.output.sparklines import added, sparkline


@pytest.mark.parametrize(
    ("points", "width", "shown"),
    [
        ([], 8, ""),
        ([5], 0, ""),
        ([0, 0], 8, "▁▁"),
        ([0, 1, 2, 3, 4, 5, 6, 7], 8, "▁▂▃▄▅▆▇█"),
        ([1, None, 8], 8, "▂ █"),
        ([None, None], 8, "  "),
        ([8, 1, 1, 1], 2, "█▂"),
        ([8, 1, 1], 2, "█▂"),
        ([9, 9, 1, 1, 4], 2, "█▄"),
    ],
)
def test_bars_go_from_zero_to_the_largest_and_the_newest_is_last(points, width, shown):
    assert sparkline(points, width) == shown


def test_no_more_bars_than_asked_for():
    for length in range(1, 70):
        for width in range(1, 32):
            assert 1 <= len(sparkline(list(range(length)), width)) <= width


def test_series_are_added_at_their_newest_points_and_gaps_stay():
    assert added([[1, 2, None], [10, 20]]) == [None, 12, None]
    assert added([[1, 2], [10, 0]]) == [11, 2]
    assert added([]) == []
