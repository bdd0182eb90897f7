import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karmada.apiserver.auth.escalation import check_write
from karmada.apiserver.auth.model import ANONYMOUS, Attributes, UserInfo
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.apiserver.auth.rules import Rule, TooManyPermissions, uncovered, words
from karmada.machinery.httpserver.failure import Failure

MASTER = UserInfo("root", ("system:masters",))


def role(name, rules, namespace=""):
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"metadata": metadata, "rules": rules}


def binding(name, role_name, subjects, namespace="", kind=""):
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    kind = kind or ("Role" if namespace else "ClusterRole")
    return {"metadata": metadata, "roleRef": {"kind": kind, "name": role_name}, "subjects": subjects}


def user(name):
    return {"kind": "User", "name": name}


def rule(verbs, groups=("",), resources=(), names=(), urls=()):
    return {
        "verbs": list(verbs),
        "apiGroups": list(groups),
        "resources": list(resources),
        "resourceNames": list(names),
        "nonResourceURLs": list(urls),
    }


@pytest.mark.parametrize(
    ("attributes", "allowed"),
    [
        (Attributes("get", resource="configmaps", namespace="ns"), True),
        (Attributes("delete", resource="configmaps", namespace="ns"), False),
        (Attributes("get", resource="configmaps", namespace="other"), False),
        (Attributes("get", resource="configmaps"), False),
        (Attributes("get", resource="secrets", namespace="ns", name="one"), True),
        (Attributes("get", resource="secrets", namespace="ns", name="two"), False),
        (Attributes("list", resource="secrets", namespace="ns"), False),
        (Attributes("update", "apps", resource="deployments", subresource="scale", namespace="ns"), True),
        (Attributes("update", "apps", resource="deployments", namespace="ns"), False),
        (Attributes("update", "apps", resource="statefulsets", subresource="status", namespace="ns"), True),
    ],
)
def test_a_role_allows_what_its_rules_say_in_its_namespace(attributes, allowed):
    rbac = RbacAuthorizer()
    rules = [
        rule(["get", "list"], [""], ["configmaps"]),
        rule(["get"], [""], ["secrets"], ["one"]),
        rule(["update"], ["apps"], ["deployments/scale", "*/status"]),
    ]
    rbac.put("roles", role("reader", rules, "ns"))
    rbac.put("rolebindings", binding("rb", "reader", [user("u")], "ns"))
    decision = rbac.authorize(UserInfo("u"), attributes)
    assert decision.allowed is allowed
    assert decision.reason == ('RBAC: allowed by RoleBinding "rb/ns" of Role "reader" to User "u"' if allowed else "")


def test_service_accounts_are_bound_by_namespace_and_name():
    rbac = RbacAuthorizer()
    rbac.put("roles", role("r", [rule(["get"], [""], ["pods"])], "ns"))
    rbac.put("rolebindings", binding("b", "r", [{"kind": "ServiceAccount", "name": "sa"}], "ns"))
    attributes = Attributes("get", resource="pods", namespace="ns")
    assert rbac.authorize(UserInfo("system:serviceaccount:ns:sa"), attributes).reason.endswith('ServiceAccount "sa/ns"')
    assert not rbac.authorize(UserInfo("system:serviceaccount:other:sa"), attributes).allowed


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/healthz", True), ("/healthz/ping", False), ("/api", True), ("/api/v1", True), ("/apis", False)],
)
def test_paths_match_exactly_or_by_prefix(path, allowed):
    rbac = RbacAuthorizer()
    rbac.put("clusterroles", role("r", [rule(["get"], urls=["/healthz", "/api", "/api/*"])]))
    rbac.put("clusterrolebindings", binding("b", "r", [{"kind": "Group", "name": "system:unauthenticated"}]))
    assert rbac.authorize(ANONYMOUS, Attributes("get", path=path)).allowed is allowed


def test_decisions_follow_every_change():
    rbac = RbacAuthorizer()
    attributes = Attributes("get", resource="pods", namespace="ns")

    def allowed():
        return rbac.authorize(UserInfo("u"), attributes).allowed

    rbac.put("clusterrolebindings", binding("b", "r", [user("u")]))
    assert (
        rbac.authorize(UserInfo("u"), attributes).reason == 'RBAC: clusterrole.rbac.authorization.k8s.io "r" not found'
    )
    rbac.put("clusterroles", role("r", [rule(["get"], [""], ["pods"])]))
    assert allowed()
    rbac.put("clusterroles", role("r", []))
    assert not allowed()
    rbac.put("clusterroles", role("r", [rule(["*"], ["*"], ["*"])]))
    rbac.put("clusterrolebindings", binding("b", "r", [user("v")]))
    assert not allowed()
    rbac.put("clusterrolebindings", binding("b", "r", [user("u")]))
    assert allowed()
    rbac.remove("clusterrolebindings", "", "b")
    assert not allowed()
    assert rbac._everywhere == {}


def test_what_is_remembered_of_one_name_is_not_said_of_another():
    rules = [rule(["get"], [""], ["pods"], ["n"]), rule(["get"], [""], ["pods/log"]), rule(["patch"], [""], ["pods"])]

    def attributes_of(name, verb="get", subresource=""):
        return Attributes(verb, resource="pods", subresource=subresource, namespace="ns", name=name)

    rbac = RbacAuthorizer()
    rbac.put("roles", role("r", rules, "ns"))
    rbac.put("rolebindings", binding("b", "r", [user("u")], "ns"))
    for names in (("n", "m", ""), ("m", "", "n")):
        rbac._changed()
        for _ in range(2):
            assert [rbac.authorize(UserInfo("u"), attributes_of(name)).allowed for name in names] == [
                n == "n" for n in names
            ]
            assert all(rbac.authorize(UserInfo("u"), attributes_of(name, "get", "log")).allowed for name in names)
            assert all(rbac.authorize(UserInfo("u"), attributes_of(name, "patch")).allowed for name in names)
            assert not any(rbac.authorize(UserInfo("u"), attributes_of(name, "delete")).allowed for name in names)


def test_a_decision_that_holds_for_every_name_is_remembered_once():
    rbac = RbacAuthorizer()
    rbac.put("clusterroles", role("r", [rule(["patch"], [""], ["pods"]), rule(["get"], [""], ["leases"], ["own"])]))
    rbac.put("clusterrolebindings", binding("b", "r", [user("u")]))
    for number in range(1000):
        assert rbac.authorize(UserInfo("u"), Attributes("patch", resource="pods", name=f"p{number}")).allowed
    assert rbac.remembered == 1


def test_masters_need_no_role():
    assert RbacAuthorizer().authorize(MASTER, Attributes("get", resource="x")).allowed


# A naive evaluator, straight from the definition.

WORDS = st.sampled_from(["*", "a", "b"])
RULES = st.builds(
    rule,
    st.lists(WORDS, min_size=1, max_size=2),
    st.lists(WORDS, min_size=1, max_size=2),
    st.lists(st.sampled_from(["*", "a", "b", "a/s", "*/s"]), min_size=1, max_size=2),
    st.lists(st.sampled_from(["n", "m"]), max_size=1),
)
SUBJECTS = st.lists(st.sampled_from([user("u"), user("v"), {"kind": "Group", "name": "g"}]), min_size=1, max_size=2)
ROLES = st.lists(
    st.tuples(st.sampled_from(["", "x", "y"]), st.sampled_from(["r1", "r2"]), st.lists(RULES, max_size=2)), max_size=4
)
BINDINGS = st.lists(
    st.tuples(st.sampled_from(["", "x", "y"]), st.sampled_from(["b1", "b2"]), st.sampled_from(["r1", "r2"]), SUBJECTS),
    max_size=4,
)
ASKED = st.builds(
    Attributes,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["a", "b"]),
    st.just("v1"),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["", "s"]),
    st.sampled_from(["", "x", "y"]),
    st.sampled_from(["", "n", "m"]),
)


def naive(roles, bindings, person, attributes):
    for (namespace, _), (role_name, kind, subjects) in bindings.items():
        if namespace not in ("", attributes.namespace) or (namespace and not attributes.namespace):
            continue
        if not any(s["name"] == person.name if s["kind"] == "User" else s["name"] in person.groups for s in subjects):
            continue
        for one in roles.get((namespace if kind == "Role" else "", role_name), []):
            combined = (
                f"{attributes.resource}/{attributes.subresource}" if attributes.subresource else attributes.resource
            )
            resources = {"*", combined} | ({f"*/{attributes.subresource}"} if attributes.subresource else set())
            if (
                set(one["verbs"]) & {"*", attributes.verb}
                and set(one["apiGroups"]) & {"*", attributes.group}
                and set(one["resources"]) & resources
                and (not one["resourceNames"] or attributes.name in one["resourceNames"])
            ):
                return True
    return False


@settings(max_examples=300)
@given(ROLES, BINDINGS, ASKED, st.sampled_from([UserInfo("u"), UserInfo("v", ("g",)), UserInfo("w", ("g", "h"))]))
def test_the_index_agrees_with_a_naive_evaluator(roles, bindings, attributes, person):
    rbac = RbacAuthorizer()
    known_roles, known_bindings = {}, {}
    for namespace, name, rules in roles:
        rbac.put("roles" if namespace else "clusterroles", role(name, rules, namespace))
        known_roles[(namespace, name)] = rules
        rbac.authorize(person, attributes)
    for namespace, name, role_name, subjects in bindings:
        kind = "Role" if namespace and role_name == "r1" else "ClusterRole"
        obj = binding(name, role_name, subjects, namespace, kind)
        rbac.put("rolebindings" if namespace else "clusterrolebindings", obj)
        known_bindings[(namespace, name)] = (role_name, kind, subjects)
        rbac.authorize(person, attributes)
    for name in (attributes.name, "n", "m", ""):  # what is remembered of one must not be said of another
        named = msgspec.structs.replace(attributes, name=name)
        assert rbac.authorize(person, named).allowed is naive(known_roles, known_bindings, person, named)


# Escalation.


@pytest.fixture
def limited():
    rbac = RbacAuthorizer()
    rules = [
        rule(["create", "update"], ["rbac.authorization.k8s.io"], ["roles", "rolebindings"]),
        rule(["get"], [""], ["pods"]),
    ]
    rbac.put("roles", role("limited", rules, "ns"))
    rbac.put("roles", role("powerful", [rule(["*"], [""], ["secrets"])], "ns"))
    rbac.put("clusterroles", role("cluster-admin", [rule(["*"], ["*"], ["*"]), rule(["*"], (), urls=["*"])]))
    rbac.put("rolebindings", binding("lim", "limited", [user("u")], "ns"))
    return rbac


LIMITED = UserInfo("u", ("system:authenticated",))
HELD = 'user "u" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'


def test_a_role_with_held_permissions_may_be_written(limited):
    check_write(limited, LIMITED, "roles", role("ok", [rule(["get"], [""], ["pods"])], "ns"), None)


@pytest.mark.parametrize(
    ("resource", "obj", "message"),
    [
        pytest.param(
            "roles",
            role("r", [rule(["get", "list"], [""], ["secrets"])], "ns"),
            HELD + '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
            id="role",
        ),
        pytest.param(
            "rolebindings",
            binding("b", "powerful", [user("u")], "ns"),
            HELD + '{APIGroups:[""], Resources:["secrets"], Verbs:["*"]}',
            id="binding",
        ),
        pytest.param(
            "rolebindings",
            binding("b", "cluster-admin", [], "ns", "ClusterRole"),
            HELD + '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}',
            id="cluster-admin",
        ),
        pytest.param(
            "roles",
            role("r", [rule(["get"], [""], ["secrets", "pods"], ["a", "b"])], "ns"),
            HELD
            + '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}\n'
            + '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}',
            id="names",
        ),
    ],
)
def test_granting_more_than_one_holds_is_refused(limited, resource, obj, message):
    with pytest.raises(Failure) as refusal:
        check_write(limited, LIMITED, resource, obj, None)
    assert refusal.value.code == 403
    name = obj["metadata"]["name"]
    assert refusal.value.message == f'{resource}.rbac.authorization.k8s.io "{name}" is forbidden: {message}'
    check_write(limited, MASTER, resource, obj, None)


def test_binding_an_unknown_role_is_not_found(limited):
    with pytest.raises(Failure) as refusal:
        check_write(limited, LIMITED, "rolebindings", binding("b", "nosuch", [], "ns"), None)
    assert refusal.value.message == 'rolebindings.rbac.authorization.k8s.io "nosuch" not found'


@pytest.mark.parametrize(
    ("verb", "resource", "obj"),
    [
        ("bind", "roles", ("rolebindings", binding("b", "powerful", [], "ns"))),
        ("escalate", "roles", ("roles", role("r", [rule(["*"], ["*"], ["*"])], "ns"))),
    ],
)
def test_the_verbs_bind_and_escalate_lift_the_check(limited, verb, resource, obj):
    limited.put("roles", role("extra", [rule([verb], ["rbac.authorization.k8s.io"], [resource])], "ns"))
    limited.put("rolebindings", binding("extra", "extra", [user("u")], "ns"))
    check_write(limited, LIMITED, *obj, None)


def test_an_aggregation_rule_needs_everything(limited):
    obj = role("agg", [])
    obj["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    with pytest.raises(Failure, match="must have cluster-admin privileges to use the aggregationRule"):
        check_write(limited, LIMITED, "clusterroles", obj, None)


CLAIM = {"clusterpropagationpolicy.karmada.io/permanent-id": "one"}


def marked(obj, field, marks):
    return {**obj, "metadata": {**obj["metadata"], field: marks}}


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize(
    ("resource", "obj"),
    [
        ("rolebindings", binding("b", "powerful", [user("u")], "ns")),
        ("clusterrolebindings", binding("b", "nosuch", [user("u")])),
        ("clusterroles", role("r", [rule(["*"], ["*"], ["*"])])),
    ],
)
def test_a_claim_of_a_policy_grants_nothing_and_may_be_put_on_what_one_does_not_hold(limited, resource, obj, field):
    check_write(limited, LIMITED, resource, marked(obj, field, CLAIM), obj)
    check_write(limited, LIMITED, resource, obj, marked(obj, field, CLAIM))
    for other in (
        {"rbac.authorization.k8s.io/aggregate-to-view": "true"},
        {"of-my-own.karmada.io/aggregate": "true"},
    ):
        with pytest.raises(Failure):
            check_write(limited, LIMITED, resource, marked(obj, field, CLAIM | other), obj)
    with pytest.raises(Failure):
        check_write(limited, LIMITED, resource, marked(obj, field, CLAIM), None)


def test_permissions_that_multiply_beyond_a_bound_are_not_compared():
    many = tuple(f"a{number}" for number in range(101))
    with pytest.raises(TooManyPermissions):
        uncovered([], [Rule(many, many, many, many)])


def test_many_rules_are_compared_with_many_up_to_a_bound():
    held = [Rule(("get",), ("",), ("pods",), (f"a{number}",)) for number in range(2_000)]
    wanted = [Rule(("get",), ("",), ("pods",), (f"b{number}",)) for number in range(2_000)]
    assert uncovered(held, wanted[:5]) == wanted[:5]
    with pytest.raises(TooManyPermissions):
        uncovered(held, wanted)


def test_a_grant_that_takes_too_long_to_judge_is_refused_with_the_limit(limited):
    many = [f"a{number}" for number in range(1_001)]
    obj = role("r", [rule(many, [""], ["pods"], many)], "ns")
    with pytest.raises(Failure) as refused:
        check_write(limited, LIMITED, "roles", obj, None)
    assert refused.value.code == 403
    assert "rules: comparing them with what you hold takes more than 1000000 comparisons" in refused.value.message


def test_names_among_many_are_found_in_their_set_and_stay_in_order():
    many = words([f"a{number}" for number in range(100)])
    assert "a99" in many
    assert "b" not in many
    assert list(many)[:2] == ["a0", "a1"]
    assert many == tuple(f"a{number}" for number in range(100))
