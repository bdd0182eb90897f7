"""Fixed weights give no cluster more than it has room for, with the gate RoomAwareScaling."""

from hypothesis import given
from hypothesis import strategies as st
from tests.scheduler.facts import STATIC, binding, cluster

from karmada.api.decision import Placed
from karmada.api.feature_gates import DEFAULTS
from karmada.policies import webster
from karmada.scheduler.core.assignment import within_room
from karmada.scheduler.core.decide import decide
from karmada.scheduler.core.request import DEFAULT_SETTINGS, Settings
from karmada.scheduler.core.snapshot import Snapshot

ON = Settings(DEFAULTS.with_overrides({"RoomAwareScaling": True}))
counts = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 50), min_size=1)


def placed(settings, replicas, clusters=None, **pods):
    snapshot = Snapshot([cluster(name, count) for name, count in pods.items()])
    outcome = decide(snapshot, binding(replicas, {"replicaScheduling": STATIC}, clusters), {}, settings).outcome
    assert isinstance(outcome, Placed)
    return {target.name: target.replicas for target in outcome.clusters}


def test_what_a_cluster_has_no_room_for_goes_to_the_others():
    assert placed(DEFAULT_SETTINGS, 9, a=1, b=50, c=50) == {"a": 3, "b": 3, "c": 3}
    assert placed(ON, 9, a=1, b=50, c=50) == {"a": 1, "b": 4, "c": 4}


def test_replicas_that_run_in_a_full_cluster_stay():
    assert placed(ON, 9, {"a": 2}, a=0, b=50, c=50) == {"a": 2, "b": 4, "c": 3}


def test_replicas_that_fit_nowhere_are_shared_by_weight_all_the_same():
    assert placed(ON, 9, a=1, b=1, c=1) == {"a": 3, "b": 3, "c": 3}


@given(st.integers(0, 120), counts, st.dictionaries(st.sampled_from("abcde"), st.integers(0, 60)), st.booleans())
def test_all_replicas_are_shared_and_no_room_is_left_while_a_cluster_is_overfull(replicas, weights, room, ascending):
    shares = within_room(replicas, weights, room, ascending)
    assert sum(shares.values()) == replicas
    over = [name for name, count in shares.items() if count > room.get(name, 0)]
    if over:
        assert all(shares[name] >= room.get(name, 0) for name in weights)


@given(st.integers(0, 120), counts, st.booleans())
def test_with_room_for_everything_shares_are_those_of_the_weights(replicas, weights, ascending):
    plain = {share.name: share.seats for share in webster.divide(replicas, weights.items(), ascending=ascending)}
    assert within_room(replicas, weights, dict.fromkeys(weights, 1000), ascending) == plain
