"""Every decoder survives what its fuzzer makes: seconds here, hours in `make fuzz`."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.registry import TARGETS, corpus
from tests.fuzz.requests import make, prepare, wrong
from tests.fuzz.server import serving

SEEDS = 200
REQUESTS = 400


@pytest.mark.parametrize("name", TARGETS)
def test_a_decoder_refuses_in_its_own_words_or_not_at_all(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def run(random: Random) -> None:
        target.check(target.make(random))

    run()
    for seed in range(SEEDS):
        target.check(target.make(Random(seed)))


@pytest.mark.parametrize("name", TARGETS)
def test_what_once_broke_a_decoder_no_longer_does(name: str) -> None:
    for found in corpus(name):
        TARGETS[name].check(found)


async def test_no_request_ends_in_an_internal_error() -> None:
    async with serving() as server:
        resources = await prepare(server)
        for seed in range(REQUESTS):
            portions = make(Random(seed), resources)
            assert not wrong(await server.send(*portions)), portions
