"""Which override policies are looked at for a resource, however many there are in its namespace."""

import pytest
from tests.growth import work as work_of

from karmada.api.codec import DecodeError, encode, from_tree
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.controllers.override_choices import OverrideChoices
from karmada.machinery.codec import structs
from karmada.machinery.informers.cache import Cache, Item, Key

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "default", "name": "web"}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}}
ALL, KIND, NAME = "all", "kind", "name"
MEANS = {ALL: [], KIND: [{}], NAME: [{"name": "web"}]}


class Informed:
    """Policies in a cache, as an informer has them."""

    def __init__(self, kind, policies):
        self._cache = Cache(structs(kind))
        self.add_index, self.indexed_items = self._cache.add_index, self._cache.indexed
        items = [one if isinstance(one, Item) else self._cache.read(encode(from_tree(one, kind))) for one in policies]
        list(self._cache.replace(items, "1"))

    def __len__(self):
        return len(self._cache.items)


def policy(name, *selectors, namespace="default"):
    about = {"name": name, "uid": name, "resourceVersion": "1", **({"namespace": namespace} if namespace else {})}
    made = [{"apiVersion": "apps/v1", "kind": "Deployment"} | selector for selector in selectors]
    return {"metadata": about, "spec": {"resourceSelectors": made, "overriders": {}}}


def choices(wide=(), own=()):
    return OverrideChoices(Informed(ClusterOverridePolicy, wide), Informed(OverridePolicy, own))


def names(policies):
    return sorted(one.metadata.name for one in policies)


def test_policies_that_may_choose_a_resource_are_found_once_each():
    own = [policy(how, *selectors) for how, selectors in MEANS.items()]
    own += [policy("both", {}, {"name": "web"}), policy("labels", {"labelSelector": {"matchLabels": {"a": "b"}}})]
    others = [policy("elsewhere", namespace="other"), policy("else", {"name": "else"}), policy("v2", {"kind": "Job"})]
    found = choices(own=[*own, *others]).of(WEB).policies
    assert (names(found.cluster_policies), names(found.policies)) == ([], [ALL, "both", KIND, "labels", NAME])


def test_cluster_wide_policies_choose_in_all_namespaces_or_in_those_they_name():
    wide = [policy(how, *selectors, namespace="") for how, selectors in MEANS.items()]
    wide += [policy("near", {"namespace": "default"}, namespace=""), policy("far", {"namespace": "x"}, namespace="")]
    found = choices(wide, [policy("own")])
    assert names(found.of(WEB).policies.cluster_policies) == [ALL, KIND, NAME, "near"]
    assert (names(found.of(NODE).policies.cluster_policies), found.of(NODE).policies.policies) == ([ALL], [])


def test_no_copy_is_made_without_a_policy_that_cannot_be_read():
    broken = Item(Key("default", "broken"), "u", "1", b'{"spec": 1}', structs(OverridePolicy))
    with pytest.raises(DecodeError):
        choices(own=[broken]).of(WEB)


def test_a_resource_is_not_compared_with_policies_that_name_others():
    def measured(count):
        made = choices(own=[policy(f"p{number}", {"name": f"web{number}"}) for number in range(count)])
        return work_of(lambda: len(made.of(WEB).policies.policies)).calls

    assert measured(400) == measured(4)
