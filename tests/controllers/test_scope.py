"""What is never propagated: kinds, namespaces and objects, by rule and by flag."""

import pytest

from karmada.controllers.detector.scope import PropagationScope, ScopeOptions, SkippedApis
from karmada.controllers.flags import options_of, parser
from karmada.machinery.discovery import ApiResource
from karmada.machinery.transport import GroupVersionResource

VERBS = frozenset({"create", "delete", "get", "list", "watch"})


def kind(name, group="", version="v1", verbs=VERBS):
    return ApiResource(GroupVersionResource(group, version, f"{name.lower()}s"), name, True, verbs)


@pytest.mark.parametrize(
    ("text", "skipped"),
    [
        ("", set()),
        ("apps", {"Deployment", "Beta"}),
        ("apps/v1beta1", {"Beta"}),
        ("apps/v1/Deployment", {"Deployment"}),
        ("apps/v1/Other,Deployment", {"Deployment"}),
        ("apps/v2/Deployment", set()),
        ("v1/Pod,Secret", {"Pod", "Secret"}),
        ("v1/Pod;;apps/v1beta1", {"Pod", "Beta"}),
    ],
)
def test_apis_are_skipped_by_group_version_or_kind(text, skipped):
    kinds = [
        kind("Deployment", "apps"),
        kind("Beta", "apps", "v1beta1"),
        kind("Pod"),
        kind("Secret"),
        kind("ConfigMap"),
    ]
    apis = SkippedApis(text)
    assert {one.kind for one in kinds if one in apis} == skipped
    scope = ScopeOptions(skipped_apis=text).scope()
    assert {one.kind for one in kinds if not scope.watches(one)} == skipped


@pytest.mark.parametrize(
    "resource",
    [
        kind("Work", "work.karmada.io"),
        kind("Cluster", "cluster.karmada.io"),
        kind("Event"),
        kind("Event", "events.k8s.io"),
        kind("Lease", "coordination.k8s.io"),
        kind("Binding", verbs=frozenset({"create"})),
        kind("Secret", verbs=VERBS - {"watch"}),
    ],
    ids=["a Work", "a Cluster", "an event", "a new event", "a lease", "only created", "not watched"],
)
def test_what_is_ours_or_cannot_be_followed_is_never_looked_at(resource):
    assert not PropagationScope(SkippedApis()).watches(resource)


def test_kinds_of_users_are_looked_at():
    scope = PropagationScope(SkippedApis())
    assert scope.watches(kind("Deployment", "apps"))
    assert scope.watches(kind("Secret", verbs=frozenset({"delete", "list", "watch"})))
    assert scope.watches(kind("Event", "example.io"))
    assert scope.watches(kind("Widget", "networking.k8s.io"))


@pytest.mark.parametrize(
    ("which", "covered"),
    [
        (("v1", "ConfigMap", "default", "settings"), True),
        (("v1", "ConfigMap", "kube-public", "settings"), False),
        (("v1", "ConfigMap", "my-kube-public", "settings"), True),
        (("v1", "ConfigMap", "karmada-system", "settings"), False),
        (("v1", "ConfigMap", "karmada-cluster", "settings"), False),
        (("v1", "ConfigMap", "karmada-es-m1", "settings"), False),
        (("v1", "Namespace", "", "default"), True),
        (("v1", "Namespace", "", "kube-public"), False),
        (("v1", "Namespace", "", "karmada-es-m1"), False),
        (("rbac.authorization.k8s.io/v1", "ClusterRole", "", "kube-public"), True),
        (("example.io/v1", "Namespace", "", "kube-public"), True),
    ],
)
def test_objects_of_reserved_and_skipped_namespaces_are_not_looked_at(which, covered):
    assert PropagationScope(SkippedApis()).covers(*which) is covered


def test_the_configuration_of_authentication_stays_even_if_its_namespace_is_not_skipped():
    scope = PropagationScope(SkippedApis(), [])
    assert not scope.covers("v1", "ConfigMap", "kube-system", "extension-apiserver-authentication")
    assert scope.covers("v1", "ConfigMap", "kube-system", "other")
    assert scope.covers("v1", "ConfigMap", "default", "extension-apiserver-authentication")


def test_flags_choose_what_is_skipped():
    flags = ["--skipped-propagating-apis=apps/v1/Deployment", "--skipped-propagating-namespaces=private-.*"]
    scope = options_of(parser().parse(flags)).options.of(ScopeOptions).scope()
    assert not scope.watches(kind("Deployment", "apps"))
    assert not scope.covers("v1", "ConfigMap", "private-a", "settings")
    assert scope.covers("v1", "ConfigMap", "kube-public", "settings")


@pytest.mark.parametrize(
    "flag",
    [
        "--skipped-propagating-apis=a/b/c/d",
        "--skipped-propagating-namespaces=(",
        "--skipped-propagating-apis=a;b/c/d/e",
    ],
)
def test_a_flag_that_makes_no_sense_is_refused_at_the_start(flag, capsys):
    with pytest.raises(SystemExit):
        parser().parse([flag])
    assert flag.partition("=")[0] in capsys.readouterr().err
