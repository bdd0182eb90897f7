"""What the RBAC authoriser keeps of roles and bindings, and what aggregated roles and rules come to."""

import orjson
import pytest

from karmada.apiserver.auth import rbac as module
from karmada.apiserver.auth.aggregation import aggregated_rules, is_aggregated
from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.apiserver.auth.rbac_sync import RbacFollower
from karmada.apiserver.auth.rules import Rule, describe, parse_rules, uncovered, url_matches
from karmada.apiserver.storage.base import Value
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.watchcache import Index, WatchCache

GET = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
LIST = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
PODS = Attributes("get", resource="pods", namespace="ns")


def role(name, *rules, labels=None, selectors=None):
    found = {"metadata": {"name": name, "labels": labels}, "rules": list(rules) or None}
    return found if selectors is None else {**found, "aggregationRule": {"clusterRoleSelectors": selectors}}


def binding(*subjects, namespace="ns", name="b"):
    return {
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"kind": "ClusterRole", "name": "reader"},
        "subjects": list(subjects),
    }


def authorizer(*subjects):
    rbac = RbacAuthorizer()
    rbac.put("clusterroles", role("reader", GET))
    rbac.put("rolebindings", binding(*subjects))
    return rbac


USER = {"kind": "User", "name": "u"}


def test_a_subject_that_a_role_binding_no_longer_names_loses_what_it_gave():
    rbac = authorizer(USER)
    assert rbac.authorize(UserInfo("u"), PODS).allowed
    rbac.put("rolebindings", binding({"kind": "User", "name": "v"}))
    assert not rbac.authorize(UserInfo("u"), PODS).allowed
    assert rbac.authorize(UserInfo("v"), PODS).allowed
    rbac.remove("rolebindings", "ns", "b")
    assert not rbac.authorize(UserInfo("v"), PODS).allowed
    rbac.remove("rolebindings", "ns", "b")


def test_subjects_of_unknown_kinds_and_without_a_namespace_are_nobody():
    nobody = [{"kind": "Robot", "name": "u"}, {"kind": "ServiceAccount", "name": "u"}, {}]
    rbac = RbacAuthorizer()
    rbac.put("clusterroles", role("reader", GET))
    rbac.put("clusterrolebindings", binding(*nobody, namespace=""))
    assert [list(rbac.rules_for(UserInfo(name), "ns")) for name in ("u", "")] == [[], []]


def test_a_subject_that_is_named_twice_is_granted_once():
    assert len(authorizer(USER, USER).rules_for(UserInfo("u"), "ns")) == 1


def test_a_removed_role_gives_nothing():
    rbac = authorizer(USER)
    rbac.remove("clusterroles", "", "reader")
    decision = rbac.authorize(UserInfo("u"), PODS)
    assert (decision.allowed, rbac.role_rules(("", "reader"))) == (False, None)
    assert decision.reason == 'RBAC: clusterrole.rbac.authorization.k8s.io "reader" not found'
    rbac.put("rolebindings", {**binding(USER, name="other"), "roleRef": {"kind": "Role", "name": "local"}})
    assert rbac.authorize(UserInfo("u"), PODS).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "reader" not found, '
        'role.rbac.authorization.k8s.io "local" not found]'
    )


def test_what_was_remembered_of_one_object_is_forgotten_with_the_next_change():
    rbac = authorizer(USER)
    own = Attributes("get", resource="pods", namespace="ns", name="own")
    rbac.put("clusterroles", role("reader", {**GET, "resourceNames": ["own"]}))
    assert rbac.authorize(UserInfo("u"), own).allowed
    rbac.put("clusterroles", role("reader", {**GET, "resourceNames": ["another"]}))
    assert not rbac.authorize(UserInfo("u"), own).allowed


def test_no_more_decisions_are_remembered_than_there_is_room_for():
    rbac = authorizer(USER)
    for number in range(16_384):
        rbac.authorize(UserInfo(f"u{number}"), PODS)
    assert rbac.remembered == 16_384
    rbac.authorize(UserInfo("one-more"), PODS)
    assert rbac.remembered == 1


@pytest.mark.parametrize(("length", "remembered"), [(2048, 1), (2049, 0)])
def test_a_question_of_more_than_two_thousand_characters_is_not_remembered(length, remembered):
    rbac = authorizer()
    known = sum(map(len, ("get", "pods", "ns", PODS.version, "g")))
    rbac.authorize(UserInfo("u" * (length - known), ("g",)), PODS)
    assert rbac.remembered == remembered


def test_an_aggregated_role_has_the_rules_of_the_roles_that_its_selectors_match():
    view = role("view", LIST, selectors=[{"matchLabels": {"a": "1"}}, {"matchLabels": {"b": "1"}}])
    others = [
        role("z", LIST, labels={"a": "1"}),
        role("y", GET, LIST, labels={"a": "1", "b": "1"}),
        role("x", {**GET, "verbs": ["watch"]}, labels={"b": "1"}),
        role("w", {**GET, "verbs": ["delete"]}, labels={"c": "1"}),
        role("v", labels={"a": "1"}),
        role("u", {**GET, "verbs": ["delete"]}),
        {**view, "metadata": {"name": "view", "labels": {"a": "1"}}, "rules": [{**GET, "verbs": ["patch"]}]},
    ]
    assert [rule["verbs"] for rule in aggregated_rules(view, others)] == [["get"], ["list"], ["watch"]]
    assert is_aggregated(view) is True


@pytest.mark.parametrize("plain", [role("r"), role("r", selectors=[]), {**role("r"), "aggregationRule": None}])
def test_a_role_without_selectors_is_not_aggregated(plain):
    assert is_aggregated(plain) is False
    assert aggregated_rules(plain, [role("other", GET, labels={"a": "1"})]) == []


@pytest.mark.parametrize(
    ("owned", "wanted", "lacks"),
    [
        ([GET], [GET], []),
        ([GET], [LIST], ['{APIGroups:[""], Resources:["pods"], Verbs:["list"]}']),
        ([{**GET, "verbs": ["*"]}], [LIST], []),
        ([GET], [{**GET, "verbs": ["*"]}], ['{APIGroups:[""], Resources:["pods"], Verbs:["*"]}']),
        ([{**GET, "apiGroups": ["*"]}], [GET], []),
        ([GET], [{**GET, "apiGroups": ["apps"]}], ['{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}']),
        ([GET], [{**GET, "resourceNames": ["n"]}], []),
        ([{**GET, "resourceNames": ["n"]}], [GET], ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}']),
        ([{**GET, "resourceNames": ["n"]}], [{**GET, "resourceNames": ["n"]}], []),
        ([{**GET, "resources": ["*/log"]}], [{**GET, "resources": ["pods/log"]}], []),
        (
            [GET],
            [{**GET, "resources": ["pods/log"]}],
            ['{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}'],
        ),
        ([{"verbs": ["get"], "nonResourceURLs": ["/api/*"]}], [{"verbs": ["get"], "nonResourceURLs": ["/api/v1"]}], []),
        (
            [{"verbs": ["get"], "nonResourceURLs": ["/api"]}],
            [{"verbs": ["get"], "nonResourceURLs": ["/apis"]}],
            ['{NonResourceURLs:["/apis"], Verbs:["get"]}'],
        ),
        ([{"verbs": ["get"], "nonResourceURLs": ["*"]}], [{"verbs": ["get"], "nonResourceURLs": ["*"]}], []),
    ],
)
def test_what_is_not_held_is_named(owned, wanted, lacks):
    assert [describe(rule) for rule in uncovered(parse_rules(owned), parse_rules(wanted))] == lacks


def test_a_rule_is_shown_without_what_it_does_not_say():
    assert parse_rules(None) == ()
    assert parse_rules([{}]) == (Rule(),)
    [rule] = parse_rules([{**GET, "resourceNames": ["n"]}])
    assert rule.to_object() == {**GET, "resourceNames": ["n"]}
    assert url_matches(("/a/*",), "/a/b")
    assert not url_matches(("/a",), "/a/b")


def stored(obj):
    rest = orjson.dumps(obj["metadata"])[1:]
    head, tail = b'{"metadata":{"resourceVersion":"', b'",' + rest + b"," + orjson.dumps({**obj, "metadata": 0})[1:]
    return Value(head, tail.replace(b'"metadata":0,', b"").replace(b',"metadata":0', b""))


async def test_the_authoriser_knows_what_is_stored_and_follows_every_change():
    store = WatchCache(MemoryStorage(), lambda kind, body: Index("", {}, (), {}))
    await store.start()
    none = Index("", {}, (), {})
    roles, bindings = (module.GROUP, "clusterroles"), (module.GROUP, "rolebindings")
    await store.create(roles, "", "reader", stored(role("reader", GET)), none)
    rbac = RbacAuthorizer()
    RbacFollower(store, rbac).start()
    assert rbac.role_rules(("", "reader")) == parse_rules([GET])
    bound = await store.create(bindings, "ns", "b", stored(binding(USER)), none)
    assert rbac.authorize(UserInfo("u"), PODS).allowed
    await store.delete(bindings, "ns", "b", stored(binding(USER)), bound.revision)
    assert not rbac.authorize(UserInfo("u"), PODS).allowed
    await store.create(("", "clusterroles"), "", "other", stored(role("other", GET)), none)
    assert rbac.role_rules(("", "other")) is None
    await store.stop()


def test_rules_without_end_in_a_namespace_cost_a_bounded_look_and_leave_cluster_wide_grants_alone():
    rbac = RbacAuthorizer()
    rbac.put("clusterroles", role("reader", GET))
    rbac.put("clusterrolebindings", {**binding({"kind": "User", "name": "controller"}, namespace=""), "name": "c"})
    rbac.put(
        "roles", {"metadata": {"name": "many", "namespace": "ns"}, "rules": [LIST] * (module.LOOKED_AT + 5) + [GET]}
    )
    everybody = {"kind": "Group", "name": "system:authenticated"}
    reference = {"kind": "Role", "name": "many"}
    rbac.put("rolebindings", {**binding(everybody, USER, name="many"), "roleRef": reference})
    rbac.put("rolebindings", binding(USER, name="z"))
    refused = rbac.authorize(UserInfo("u"), PODS)
    assert (refused.allowed, "bind fewer" in refused.reason) == (False, True)
    assert rbac.authorize(UserInfo("controller", groups=("system:authenticated",)), PODS).allowed
    assert len(rbac.rules_for(UserInfo("u"), "ns")) == module.LOOKED_AT


def test_as_many_bindings_as_are_looked_at_may_apply():
    rbac = RbacAuthorizer()
    rbac.put("clusterroles", role("reader", GET))
    for number in range(module.LOOKED_AT // 2):
        reference = {"kind": "Role", "name": "gone"} if number else {"kind": "ClusterRole", "name": "reader"}
        rbac.put("rolebindings", {**binding(USER, name=f"b{number}"), "roleRef": reference})
    assert rbac.authorize(UserInfo("u"), PODS).allowed
    assert "not found" in rbac.authorize(UserInfo("u"), Attributes("list", resource="pods", namespace="ns")).reason
