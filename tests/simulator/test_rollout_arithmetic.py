"""The arithmetic of rollouts: from any state, every step keeps the promises, and the rollout ends."""

from hypothesis import given
from hypothesis import strategies as st

from karmada.simulator.workloads.rollout import Limits, Size, grown, proportional, resolved, shrunk


@st.composite
def states(draw):
    replicas = draw(st.integers(0, 20))
    surge = draw(st.integers(0, 5))
    unavailable = draw(st.integers(0 if surge else 1, 5))
    old = [
        Size(f"old{number}", size, draw(st.integers(0, size)))
        for number, size in enumerate(draw(st.lists(st.integers(0, 10), max_size=3)))
    ]
    size = draw(st.integers(0, replicas))
    return replicas, Limits(surge, min(unavailable, replicas)), Size("new", size, draw(st.integers(0, size))), old


@given(states())
def test_growing_stays_within_the_surge(state):
    replicas, limits, new, old = state
    size = grown(replicas, limits, new, old)
    total = size + sum(one.replicas for one in old)
    assert new.replicas <= size <= replicas
    assert size == new.replicas or total <= replicas + limits.surge


@given(states())
def test_shrinking_never_takes_a_pod_that_must_serve(state):
    replicas, limits, new, old = state
    sizes = shrunk(replicas, limits, new, old)
    serving = new.available + sum(min(one.available, sizes.get(one.name, one.replicas)) for one in old)
    before = new.available + sum(one.available for one in old)
    assert serving >= min(before, replicas - limits.unavailable)
    assert all(0 <= size < one.replicas for one in old for size in [sizes.get(one.name, -1)] if one.name in sizes)


@given(states())
def test_every_rollout_ends_when_pods_become_ready(state):
    replicas, limits, new, old = state
    if not limits.surge and not limits.unavailable:
        return
    for _ in range(200):
        size = grown(replicas, limits, new, old)
        sizes = {} if size != new.replicas else shrunk(replicas, limits, new, old)
        new = Size("new", size, size)
        old = [Size(one.name, r := sizes.get(one.name, one.replicas), min(one.available, r)) for one in old]
        if new.replicas == replicas and not any(one.replicas for one in old):
            return
    raise AssertionError(f"still {new} and {old}")


@given(states())
def test_scaling_in_the_middle_of_a_rollout_reaches_the_new_size(state):
    replicas, limits, new, old = state
    sets = [(one, 0) for one in (new, *old) if one.replicas]
    sizes = proportional(replicas, limits, sets)
    total = sum(sizes.get(one.name, one.replicas) for one, _ in sets)
    if sets:
        assert total == (replicas + limits.surge if replicas else 0)


def test_percentages_round_up_and_down():
    assert (resolved("25%", 3, up=True), resolved("25%", 3, up=False), resolved(2, 3, up=True)) == (1, 0, 2)
