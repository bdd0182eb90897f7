"""Which policy a resource belongs to: laws that hold for any set of policies."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from karmada.api.meta import LabelSelector, ObjectMeta
from karmada.api.policy.v1alpha1 import PropagationPolicy, PropagationSpec, ResourceSelector
from karmada.policies.election import elect, explicit_priority
from karmada.policies.matching import Match, Subject, closest

SUBJECT = Subject("apps/v1", "Deployment", "default", "web", {"app": "web"})

selectors = st.sampled_from(
    [
        ResourceSelector(api_version="apps/v1", kind="Deployment"),
        ResourceSelector(api_version="apps/v1", kind="Deployment", name="web"),
        ResourceSelector(api_version="apps/v1", kind="Deployment", name="other"),
        ResourceSelector(
            api_version="apps/v1", kind="Deployment", label_selector=LabelSelector(match_labels={"app": "web"})
        ),
        ResourceSelector(
            api_version="apps/v1", kind="Deployment", label_selector=LabelSelector(match_labels={"app": "db"})
        ),
        ResourceSelector(api_version="v1", kind="ConfigMap"),
        ResourceSelector(api_version="apps/v1", kind="Deployment", namespace="elsewhere"),
    ]
)
policies = st.lists(
    st.builds(
        lambda name, priority, chosen: PropagationPolicy(
            metadata=ObjectMeta(name=name, namespace="default"),
            spec=PropagationSpec(resource_selectors=tuple(chosen), priority=priority),
        ),
        st.text("abc", min_size=1, max_size=3),
        st.one_of(st.none(), st.integers(-2, 2)),
        st.lists(selectors, min_size=1, max_size=3),
    ),
    unique_by=lambda policy: policy.metadata.name,
    max_size=6,
)


@given(policies)
def test_the_winner_matches_and_nobody_who_matches_is_better(candidates: list[PropagationPolicy]) -> None:
    winner = elect(candidates, SUBJECT)
    matching = [p for p in candidates if closest(p.spec.resource_selectors, SUBJECT) is not Match.NONE]
    if winner is None:
        assert not matching
        return
    assert winner in matching

    def rank(policy: PropagationPolicy) -> tuple[int, int]:
        return explicit_priority(policy), closest(policy.spec.resource_selectors, SUBJECT)

    assert all(rank(other) <= rank(winner) for other in matching)
    assert all(winner.metadata.name <= other.metadata.name for other in matching if rank(other) == rank(winner))


@given(policies, st.randoms())
def test_the_order_of_policies_does_not_matter(candidates: list[PropagationPolicy], random: Random) -> None:
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert elect(candidates, SUBJECT) == elect(shuffled, SUBJECT)


def test_a_policy_that_is_being_deleted_never_wins() -> None:
    dying = PropagationPolicy(
        metadata=ObjectMeta(name="a", namespace="default", deletion_timestamp="2024-01-01T00:00:00Z"),
        spec=PropagationSpec(resource_selectors=(ResourceSelector(api_version="apps/v1", kind="Deployment"),)),
    )
    assert elect([dying], SUBJECT) is None
