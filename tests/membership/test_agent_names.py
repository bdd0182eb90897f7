"""No agent's rights reach another cluster's objects, whatever the two clusters are called."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from karmada.aggregated.cluster_type import validate
from karmada.api import names
from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.auth.rules import parse_rules
from karmada.machinery import limits
from karmada.membership import agent_writes, objects
from karmada.membership.agent_roles import agent_objects, renewal_name
from karmada.membership.refusal import Refused
from karmada.membership.registration import check_name

WORDS = ("a", "b", "member1", "impersonator", "renewal", "agent", "secret", "work", "es", "karmada", "abcde", "x0z9q")
VERBS = ("get", "list", "watch", "update", "patch", "delete", "deletecollection")
SPACE = names.CLUSTER_NAMESPACE
Object = tuple[str, str, str, str, str]
"""Group, plural, subresource, namespace, name."""

clusters = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map("-".join) | st.from_regex(
    r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True
)
suffixes = st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789", min_size=5, max_size=5)


def is_refused(cluster: str) -> bool:
    try:
        check_name(cluster)
    except Refused:
        return True
    return False


def belongings(cluster: str, suffix: str) -> Iterator[Object]:
    """What is a cluster's own in the control plane, and nobody else's."""
    works = names.execution_space(cluster)
    for sub in ("", "status", "tunnel", "proxy"):
        yield "cluster.karmada.io", "clusters", sub, "", cluster
    for secret in objects.secret_names(cluster):
        yield "", "secrets", "", SPACE, secret
    yield "coordination.k8s.io", "leases", "", SPACE, cluster
    for sub in ("", "status"):
        yield "work.karmada.io", "works", sub, works, "any"
    yield "", "events", "", works, "any"
    yield "", "namespaces", "", works, works
    for request in (renewal_name(cluster), f"{cluster}-{suffix}"):
        yield "certificates.k8s.io", "certificatesigningrequests", "", "", request
    for made in agent_objects(cluster, "any")[1:]:
        metadata = made.tree["metadata"]
        yield made.type.group, made.type.resource, "", metadata.get("namespace", ""), metadata["name"]


def allowed(roles: list[Any], verb: str, requested: Object) -> bool:
    """Whether roles with their bindings allow what is asked."""
    group, plural, sub, namespace, name = requested
    attributes = Attributes(verb, group, "v1", plural, sub, namespace, name)
    return any(
        rule.allows(attributes)
        for role in roles
        if role.type in (objects.CLUSTER_ROLES, objects.ROLES)
        and role.tree["metadata"].get("namespace", "") in ("", namespace)
        for rule in parse_rules(role.tree["rules"])
    )


@given(one=clusters, other=clusters, suffix=suffixes, request=suffixes)
@example("member1-impersonator", "member1", "abcde", "abcde")
@example("a", "a-b", "abcde", "b-abcde")
@example("a", "a-b", "abcde", "b-renewal")
def test_no_agent_reaches_what_belongs_to_another_cluster(one: str, other: str, suffix: str, request: str) -> None:
    assume(one != other)
    if is_refused(one) or is_refused(other):
        return
    roles = agent_objects(one, "r1", request=f"{one}-{request}")
    for owned in belongings(other, suffix):
        for verb in VERBS:
            assert not allowed(roles, verb, owned), (verb, owned)


@given(one=clusters, other=clusters, suffix=suffixes)
@example("a", "a-b", "abcde")
@example("member1-impersonator", "member1", "abcde")
def test_no_agent_creates_what_would_be_another_clusters(one: str, other: str, suffix: str) -> None:
    """Roles cannot bound what does not exist yet: where they allow to create a name, admission does not."""
    assume(one != other)
    if is_refused(one) or is_refused(other):
        return
    user, roles = names.agent_user(one), agent_objects(one, "r1")
    for owned in belongings(other, suffix):
        group, plural, _, _, name = owned
        if allowed(roles, "create", owned):
            assert agent_writes.problem(user, (group, plural), name, {"spec": {"syncMode": "Pull"}}), owned


@given(one=clusters, other=clusters)
def test_the_objects_of_two_clusters_are_never_the_same(one: str, other: str) -> None:
    assume(one != other and not is_refused(one) and not is_refused(other))
    assert not set(belongings(one, "abcde")) & set(belongings(other, "abcde"))


@pytest.mark.parametrize("name", ["member1-impersonator", "impersonator"])
def test_a_cluster_cannot_be_called_like_what_belongs_to_another(name: str) -> None:
    cluster = {"metadata": {"name": name}, "spec": {"syncMode": "Push"}}
    assert [error.field for error in validate(cluster, None)] == ["metadata.name"]
    assert validate(cluster, cluster) == [], "one that exists can be changed, and so leave"
    with pytest.raises(Refused, match="other clusters' Secrets"):
        agent_objects(name, "r1")


MODELINGS = [{"grade": 1, "count": 2}, {"grade": 2, "count": 2}]


@pytest.mark.parametrize(
    ("plural", "status", "why"),
    [
        ("clusters", {"resourceSummary": {"allocatableModelings": MODELINGS}}, ""),
        ("clusters", {"resourceSummary": {"allocatableModelings": [*MODELINGS, MODELINGS[0]]}}, "for one grade"),
        ("clusters", {"resourceSummary": {"allocatableModelings": [{"count": 1}, {"grade": 0}]}}, "for one grade"),
        ("clusters", {"resourceSummary": {"allocatable": {"a": "x" * limits.SUMMARY}}}, "resourceSummary of a"),
        ("clusters", {"conditions": [{"message": "x" * limits.SUMMARY}]}, "status.conditions of a Cluster"),
        ("clusters", {"apiEnablements": [{"groupVersion": "x" * limits.SUMMARY}]}, ""),
        ("clusters", {"apiEnablements": [{"groupVersion": "x" * limits.ENABLEMENTS}]}, "status.apiEnablements of a"),
        ("clusters", {"resourceSummary": [1]}, ""),
        ("clusters", {"resourceSummary": {"allocatableModelings": {"grade": 1}}}, ""),
        ("clusters", {"resourceSummary": {"allocatableModelings": [1, {"grade": []}]}}, ""),
        ("clusters", "none", ""),
        ("works", {"manifestStatuses": [{"status": {"a": "x" * (limits.STATUS // 2)}}, {"health": "Healthy"}]}, ""),
        ("works", {"manifestStatuses": [{"status": {"a": "x" * (limits.STATUS // 2)}}] * 2}, "together"),
        ("works", {"manifestStatuses": [None, {"status": None}]}, ""),
        ("works", [], ""),
    ],
)
def test_an_agent_reports_as_much_as_others_can_read(plural: str, status: Any, why: str) -> None:
    """What was stored before stays: it is in nobody's way when something else is written."""
    group = "work.karmada.io" if plural == "works" else "cluster.karmada.io"
    tree = {"metadata": {"name": "member1"}, "spec": {"syncMode": "Pull"}, "status": status}
    user = names.agent_user("member1")
    found = agent_writes.problem(user, (group, plural), "member1", tree, {})
    assert (why in found, bool(found)) == (True, bool(why))
    assert not agent_writes.problem(user, (group, plural), "member1", tree, {"status": status})


def test_an_event_about_another_cluster_is_not_an_agents() -> None:
    user, events = names.agent_user("member1"), ("", "events")
    about: dict[str, Any] = {"kind": "Cluster", "name": "member2", "namespace": "karmada-es-member1"}
    assert agent_writes.problem(user, events, "x", {"involvedObject": about})
    assert not agent_writes.problem(user, events, "x", {"involvedObject": about | {"name": "member1"}})
