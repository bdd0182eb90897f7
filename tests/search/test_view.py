"""What the view of templates makes of names, owners, selectors, paths and changes."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.api.annotations import CHILDREN_OF_TEMPLATES
from karmada.api.codec import from_tree
from karmada.api.search.v1alpha1 import ResourceRegistry
from karmada.apiserver.requests import paths
from karmada.machinery.httpserver.failure import Failure
from karmada.search import view_writes
from karmada.search.plan import KindRef, children_of
from karmada.search.resource_versions import ResourceVersions
from karmada.search.view import GroupKind, InCluster, MemberRead, Named, join, member_read, renamed, show, split

DEPLOYMENT, REPLICA_SET, POD = GroupKind("apps", "Deployment"), GroupKind("apps", "ReplicaSet"), GroupKind("", "Pod")
CHILDREN = frozenset({REPLICA_SET, POD})
LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=4).map(".".join)
WEB = InCluster("web", "member1")


def owner(kind: str, name: str, api_version: str = "apps/v1") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"member-{kind}-{name}"}


def shown(*owners: Any, namespace: str = "default") -> dict[str, Any]:
    """An object of member1 in the view; there `web` of several kinds is a copy of a template."""
    copies = {
        Named(DEPLOYMENT, "default", "web"): "template",
        Named(GroupKind("example.io", "Wide"), "", "web"): "wide",
        Named(REPLICA_SET, "default", "web"): "nobody refers to it",
    }
    obj = {"metadata": {"name": "it", "namespace": namespace, "uid": "u", "ownerReferences": list(owners)}}
    show(obj, "member1", CHILDREN, lambda copy, cluster: copies.get(copy, "") if cluster == "member1" else "")
    return obj["metadata"]


@given(NAME, LABEL)
def test_every_name_is_found_again(name: str, cluster: str) -> None:
    assert split(join(name, cluster)) == InCluster(name, cluster)


@given(NAME, LABEL, NAME, LABEL)
def test_no_two_objects_share_a_name(name: str, cluster: str, other: str, elsewhere: str) -> None:
    assert (join(name, cluster) == join(other, elsewhere)) == ((name, cluster) == (other, elsewhere))


@pytest.mark.parametrize("name", ["", "web", ".", ".member1", "web."])
def test_names_that_say_no_cluster_mean_nothing(name: str) -> None:
    assert split(name) is None


def test_an_object_is_named_with_its_cluster_and_keeps_its_uid() -> None:
    found = shown()
    assert (found["name"], found["uid"]) == ("it.member1", "u")


def test_owners_that_are_shown_are_named_alike() -> None:
    (found,) = shown(owner("ReplicaSet", "web"))["ownerReferences"]
    assert found == owner("ReplicaSet", "web") | {"name": "web.member1"}


def test_owners_that_are_copies_become_their_templates() -> None:
    found, wide, other = shown(
        owner("Deployment", "web", "apps/v1beta2"), owner("Wide", "web", "example.io/v1"), owner("Deployment", "other")
    )["ownerReferences"]
    assert found == owner("Deployment", "web", "apps/v1beta2") | {"uid": "template"}
    assert wide == owner("Wide", "web", "example.io/v1") | {"uid": "wide"}
    assert other == owner("Deployment", "other")


def test_the_same_name_in_another_group_or_namespace_is_no_copy() -> None:
    kept = owner("Deployment", "web", "example.io/v1")
    assert shown(kept)["ownerReferences"] == [owner("Deployment", "web", "example.io/v1")]
    assert shown(owner("Deployment", "web"), namespace="other")["ownerReferences"] == [owner("Deployment", "web")]


@pytest.mark.parametrize(
    "owners", [None, "web", 3, {}, [None, 1, "x", {}, {"kind": 1, "name": "a", "apiVersion": "v1"}]]
)
def test_owners_of_any_shape_do_no_harm(owners: Any) -> None:
    obj = {"metadata": {"name": "it", "ownerReferences": owners}}
    show(obj, "member1", CHILDREN, lambda copy, cluster: "")
    assert obj["metadata"] == {"name": "it.member1", "ownerReferences": owners}


def test_a_name_means_one_cluster_and_its_version() -> None:
    versions = str(ResourceVersions({"member1": "5", "member2": "7"}))
    found = member_read("web.v2.member1", {"resourceVersion": versions})
    assert (found.name, found.cluster) == ("web.v2", "member1")
    assert ResourceVersions.parse(found.params["resourceVersion"]).versions == {"member1": "5"}
    assert member_read("web", {}) == MemberRead("web", {}, "")
    assert member_read("", {"limit": "1"}) == MemberRead("", {"limit": "1"}, None)


@pytest.mark.parametrize(
    ("selector", "wanted", "cluster"),
    [
        ("metadata.name=web.member1", "metadata.name=web", "member1"),
        ("metadata.name==web.member1,status.phase!=Running", "metadata.name=web,status.phase!=Running", "member1"),
        ("metadata.name=web", "metadata.name=web", ""),
        ("metadata.name=a.member1,metadata.name=a.member2", "metadata.name=a,metadata.name=a", ""),
        ("status.phase=Running", "status.phase=Running", None),
        ("nonsense", "nonsense", None),
    ],
)
def test_field_selectors_are_translated(selector: str, wanted: str, cluster: str | None) -> None:
    found = member_read("", {"fieldSelector": selector})
    assert (found.params["fieldSelector"], found.cluster) == (wanted, cluster)


def test_what_a_name_is_not_cannot_be_selected() -> None:
    with pytest.raises(Failure, match=r"selects by metadata\.name=NAME only"):
        member_read("", {"fieldSelector": "metadata.name!=web.member1"})


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/api/v1/namespaces/web.m/pods/web.m/log", "/api/v1/namespaces/web.m/pods/web/log"),
        ("/apis/apps/v1/namespaces/default/replicasets/web.m", "/apis/apps/v1/namespaces/default/replicasets/web"),
        ("/api/v1/nodes/web.m/proxy/web.m/", "/api/v1/nodes/web/proxy/web.m/"),
        ("/api/v1/watch/namespaces/a/pods/web.m", "/api/v1/watch/namespaces/a/pods/web"),
        ("/api/v1/namespaces/web.m/status", "/api/v1/namespaces/web/status"),
    ],
)
def test_only_the_name_in_a_path_changes(path: str, wanted: str) -> None:
    parts = paths.parse(path)
    assert parts is not None
    assert renamed(path, parts, "web") == wanted


MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"


@pytest.mark.parametrize(
    ("verb", "body", "media", "why"),
    [
        ("update", {}, "application/json", "not sent back whole"),
        ("patch", {}, "application/apply-patch+yaml", "not applied"),
        ("patch", {}, "application/apply-patch+cbor", "not applied"),
        ("patch", {"metadata": {"name": "other"}}, MERGE, "names and owners"),
        (
            "patch",
            {"metadata": {"ownerReferences": None}},
            "application/strategic-merge-patch+json",
            "names and owners",
        ),
        ("patch", [{"op": "replace", "path": "/metadata/name", "value": "x"}], JSON_PATCH, "names and owners"),
        ("patch", [{"op": "remove", "path": "/metadata/ownerReferences/0"}], JSON_PATCH, "names and owners"),
        ("patch", [{"op": "move", "from": "/metadata", "path": "/spec/x"}], JSON_PATCH, "names and owners"),
        ("patch", [{"op": "replace", "path": "", "value": {}}], JSON_PATCH, "names and owners"),
    ],
)
def test_changes_that_carry_shown_names_are_refused(verb: str, body: Any, media: str, why: str) -> None:
    with pytest.raises(Failure, match=why) as refused:
        view_writes.for_member(verb, orjson.dumps(body), f"{media}; charset=utf-8", "web.member1", WEB)
    assert refused.value.code == 400
    assert "clusters/member1/proxy" in str(refused.value)


@pytest.mark.parametrize(
    ("verb", "body", "media", "wanted"),
    [
        ("patch", {"metadata": {"labels": {"a": "b"}}}, MERGE, {"metadata": {"labels": {"a": "b"}}}),
        ("patch", {"metadata": {"name": "web.member1"}, "spec": {}}, MERGE, {"metadata": {"name": "web"}, "spec": {}}),
        ("patch", [{"op": "test", "path": "/metadata/namespace", "value": "a"}], JSON_PATCH, None),
        ("patch", [1, None], JSON_PATCH, None),
        ("create", {"kind": "Eviction", "metadata": {"name": "web.member1"}}, "application/json", None),
        ("delete", {"preconditions": {"uid": "u"}}, "application/json", None),
    ],
)
def test_other_changes_reach_the_member_under_its_name(verb: str, body: Any, media: str, wanted: Any) -> None:
    found = view_writes.for_member(verb, orjson.dumps(body), media, "web.member1", WEB)
    if verb == "create":
        wanted = {"kind": "Eviction", "metadata": {"name": "web"}}
    assert orjson.loads(found) == (body if wanted is None else wanted)


@pytest.mark.parametrize("body", [b"", b"{", b"3", b'"x"'])
def test_bodies_that_are_no_objects_are_the_members_to_judge(body: bytes) -> None:
    assert view_writes.for_member("patch", body, MERGE, "web.member1", WEB) == body


def test_kinds_that_may_be_templates_are_children_where_a_registry_says_so() -> None:
    def made(**annotations: str) -> ResourceRegistry:
        kinds = [("v1", "Pod"), ("apps/v1", "ReplicaSet"), ("apps/v1", "Deployment"), ("example.io/v1", "Pod")]
        selectors = [{"apiVersion": api_version, "kind": kind} for api_version, kind in kinds]
        tree = {"metadata": {"name": "r", "annotations": annotations}, "spec": {"resourceSelectors": selectors}}
        return from_tree(tree, ResourceRegistry)

    assert children_of(made()) == {KindRef("v1", "Pod"), KindRef("apps/v1", "ReplicaSet")}
    assert len(children_of(made(**{CHILDREN_OF_TEMPLATES: "true"}))) == 4
