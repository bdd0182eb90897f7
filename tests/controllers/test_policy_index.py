"""One event looks only at what it can affect, however many policies and templates there are."""

import pytest

from karmada.api.codec import encode, from_tree
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.controllers.detector.policy_index import AWAITS, SELECTS, TemplateKey, Waiting, awaits, candidates, selects
from karmada.machinery.codec import structs
from karmada.machinery.informers.cache import Cache
from karmada.machinery.transport import GroupVersionResource
from karmada.policies.election import elect
from karmada.policies.matching import Subject, closest

POLICIES, TEMPLATES, SPACES = 5_000, 50_000, 500
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


class Indexed:
    """Policies by their index, as an informer has them."""

    def __init__(self, kind, trees):
        self._cache = Cache(structs(kind))
        self._cache.add_index(SELECTS, selects)
        policies = [from_tree(tree, kind) for tree in trees]
        list(self._cache.replace([self._cache.read(encode(policy)) for policy in policies], "1"))

    def indexed(self, index, value):
        return [item.value for item in self._cache.indexed(index, value)]


def policy(called, within="", **selector):
    metadata = {"name": called, "uid": called, "resourceVersion": "1"} | ({"namespace": within} if within else {})
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment"} | selector]
    return {"metadata": metadata, "spec": {"resourceSelectors": selectors}}


def key(number):
    return TemplateKey(DEPLOYMENTS, "apps/v1", "Deployment", f"space{number % SPACES}", f"web{number}")


def subject(number):
    which = key(number)
    return Subject("apps/v1", "Deployment", which.namespace, which.name, {"app": which.name})


@pytest.fixture(scope="module")
def policies():
    named = [policy(f"p{n}", f"space{n % SPACES}", name=f"web{n}") for n in range(POLICIES)]
    return Indexed(PropagationPolicy, named)


def wide(called, **selector):
    return from_tree(policy(called, **selector), ClusterPropagationPolicy)


@pytest.mark.parametrize(("number", "expected"), [(7, "p7"), (6_007, None)], ids=["named by a policy", "named by none"])
def test_a_template_is_compared_with_the_policies_that_may_choose_it(policies, number, expected):
    found, _ = candidates(policies, Indexed(ClusterPropagationPolicy, []), subject(number))
    assert len(found) <= 1
    winner = elect(found, subject(number))
    assert (winner.metadata.name if winner else None) == expected


def test_cluster_wide_policies_of_other_namespaces_are_not_looked_at():
    trees = [policy(f"c{n}", namespace=f"space{n}") for n in range(POLICIES)]
    policies = Indexed(ClusterPropagationPolicy, [*trees, policy("everywhere")])
    _, found = candidates(Indexed(PropagationPolicy, []), policies, subject(3))
    assert sorted(one.metadata.name for one in found) == ["c3", "everywhere"]


class Counting:
    """Compares, and counts how often."""

    def __init__(self):
        self.times = 0
        self.selectors = 0

    def __call__(self, selectors, subject):
        self.times += 1
        self.selectors += len(selectors)
        return closest(selectors, subject)


@pytest.fixture(scope="module")
def waiting_and_count():
    count = Counting()
    waiting = Waiting(count)
    for number in range(TEMPLATES):
        waiting.add(key(number), subject(number))
    return waiting, count


def chosen(waiting, policy):
    return list(dict.fromkeys(key for key, is_chosen in waiting.reached_by(policy) if is_chosen))


@pytest.mark.parametrize(
    ("chooser", "expected"),
    [
        (from_tree(policy("one", "space9", name="web9"), PropagationPolicy), 1),
        (from_tree(policy("all", "space9"), PropagationPolicy), TEMPLATES // SPACES),
        (from_tree(policy("none", "space9", name="web10"), PropagationPolicy), 0),
        (wide("wide-one", name="web9"), 1),
    ],
    ids=["by name", "a namespace", "a name of another namespace", "by name anywhere"],
)
def test_a_policy_is_compared_with_the_templates_it_may_choose(waiting_and_count, chooser, expected):
    waiting, count = waiting_and_count
    before = count.times
    assert len(chosen(waiting, chooser)) == expected
    assert count.times - before == expected


def test_a_template_that_waits_no_longer_is_forgotten():
    waiting = Waiting()
    waiting.add(key(1), subject(1))
    waiting.discard(key(1))
    assert len(waiting) == 0
    assert chosen(waiting, from_tree(policy("all", "space1"), PropagationPolicy)) == []


def selecting(*selectors: dict) -> PropagationPolicy:
    """A policy in the first namespace with these selectors."""
    tree = policy("many", "space1")
    (kind,) = tree["spec"]["resourceSelectors"]
    spec = {**tree["spec"], "resourceSelectors": [{**kind, **selector} for selector in selectors]}
    return from_tree({**tree, "spec": spec}, PropagationPolicy)


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ([{}] * 100, 1),
        ([{"name": "web1"}] * 100, 1),
        ([{"labelSelector": {"matchLabels": {"a": "b"}}}] * 100 + [{}], 1),
        ([{"name": f"none{number}"} for number in range(100)], 0),
    ],
    ids=["all of a kind", "one name", "labels that do not matter", "names that do not wait"],
)
def test_a_template_is_compared_once_with_selectors_that_say_the_same(selectors: list, expected: int) -> None:
    count = Counting()
    waiting = Waiting(count)
    waiting.add(key(1), subject(1))
    assert chosen(waiting, selecting(*selectors)) == [key(1)] * expected
    assert count.times == expected
    assert count.selectors == expected


def test_a_policy_is_compared_with_one_waiting_template_at_a_time() -> None:
    waiting = Waiting()
    numbers = [number for number in range(TEMPLATES) if subject(number).namespace == "space1"]
    for number in numbers:
        waiting.add(key(number), subject(number))
    reached = waiting.reached_by(selecting({"labelSelector": {"matchLabels": {"never": "there"}}}))
    assert next(reached) == (key(numbers[0]), False)
    waiting.discard(key(numbers[1]))
    assert next(reached) == (key(numbers[2]), False)


def test_an_override_policy_that_appears_finds_the_policies_that_wait_for_it_and_no_other():
    cache = Cache(structs(PropagationPolicy))
    cache.add_index(AWAITS, awaits)
    trees = [policy("waits", "default"), policy("elsewhere", "other"), policy("never", "default")]
    for tree in trees[:2]:
        tree["spec"]["dependentOverrides"] = ["more", "needed", "needed"]
    list(cache.replace([cache.read(encode(from_tree(tree, PropagationPolicy))) for tree in trees], "1"))
    assert [item.key.name for item in cache.indexed(AWAITS, "default/needed")] == ["waits"]
