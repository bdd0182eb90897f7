"""Seeds that broke once never break again."""

from pathlib import Path

import pytest

from karmada.testing.soak import BY_CHANCE, SCENARIOS, SEEDS


def listed() -> list[tuple[str, int]]:
    lines = (line.partition("#")[0].split() for line in SEEDS.read_text().splitlines())
    return [(line[0], int(line[1])) for line in lines if line]


def test_the_list_is_that_of_this_checkout() -> None:
    assert Path(__file__).with_name("broken_seeds.txt") == SEEDS
    assert not {scenario for scenario, _ in listed()} & BY_CHANCE


@pytest.mark.parametrize(("scenario", "seed"), listed())
def test_a_seed_that_broke_once_is_whole(scenario: str, seed: int) -> None:
    SCENARIOS[scenario](seed)
