"""Pure decisions of search: who answers, what registries ask for, what is taken out of objects that are sent back."""

import msgspec
import orjson
import pytest

from karmada.api.annotations import TRIMMED_FIELDS
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.meta import ObjectMeta
from karmada.api.search.v1alpha1 import ResourceRegistry
from karmada.machinery.transport import GroupVersionResource
from karmada.search.plan import KindRef, Part, condition, wanted
from karmada.search.resource_versions import ResourceVersions
from karmada.search.routes import Answerer, route
from karmada.search.writes import for_member

REGISTERED = {GroupVersionResource("", "v1", "pods"), GroupVersionResource("apps", "v1", "deployments")}
POD = KindRef("v1", "Pod")


@pytest.mark.parametrize(
    ("method", "path", "params", "answerer"),
    [
        ("GET", "/api/v1/pods", {}, Answerer.CACHE),
        ("GET", "/api/v1/pods", {"watch": "1"}, Answerer.CACHE),
        ("GET", "/api/v1/namespaces/default/pods/a", {}, Answerer.CACHE),
        ("GET", "/api/v1/namespaces/default/pods/a/log", {}, Answerer.CLUSTER),
        ("POST", "/api/v1/namespaces/default/pods/a/exec", {}, Answerer.CLUSTER),
        ("PUT", "/apis/apps/v1/namespaces/default/deployments/a/scale", {}, Answerer.CLUSTER),
        ("DELETE", "/apis/apps/v1/namespaces/default/deployments/a", {}, Answerer.CLUSTER),
        ("GET", "/apis/apps/v1beta1/deployments", {}, Answerer.CONTROL_PLANE),
        ("POST", "/api/v1/namespaces/default/configmaps", {}, Answerer.CONTROL_PLANE),
        ("GET", "/openapi/v2", {}, Answerer.CONTROL_PLANE),
        ("GET", "/", {}, Answerer.CONTROL_PLANE),
    ],
)
def test_reads_are_the_caches_writes_the_clusters_and_the_rest_the_hubs(
    method: str, path: str, params: dict[str, str], answerer: Answerer
) -> None:
    assert route(method, path, params, REGISTERED).answerer is answerer


def cluster(name: str) -> Cluster:
    return from_tree({"metadata": {"name": name}}, Cluster, complete=True)


def selecting(*namespaces: str, clusters: tuple[str, ...] = ()) -> ResourceRegistry:
    selectors = [{"apiVersion": "v1", "kind": "Pod", "namespace": namespace} for namespace in namespaces]
    spec = {"targetCluster": {"clusterNames": list(clusters)}, "resourceSelectors": selectors}
    return from_tree({"metadata": {"name": "r"}, "spec": spec}, ResourceRegistry, complete=True)


def test_registries_add_up_and_one_without_namespace_covers_all() -> None:
    members = [cluster("m1"), cluster("m2")]
    registries = [selecting("a"), selecting("b", clusters=("m1",))]
    assert wanted(registries, members) == {"m1": {POD: Part(frozenset("ab"))}, "m2": {POD: Part(frozenset("a"))}}
    assert wanted([*registries, selecting("")], members)["m1"] == {POD: Part()}
    assert wanted([selecting("a", clusters=("m3",))], members) == {}


def test_a_field_is_left_out_where_every_registry_leaves_it_out() -> None:
    members = [cluster("m1")]

    def trimming(fields: str) -> ResourceRegistry:
        made = selecting("")
        return msgspec.structs.replace(made, metadata=ObjectMeta(annotations={TRIMMED_FIELDS: fields}))

    one, other = trimming("metadata.managedFields, spec.volumes,metadata.uid"), trimming("spec.volumes")
    assert wanted([one], members)["m1"][POD].trimmed == {"metadata.managedFields", "spec.volumes"}
    assert wanted([one, other], members)["m1"][POD].trimmed == {"spec.volumes"}
    assert wanted([one, selecting("")], members)["m1"][POD].trimmed == frozenset()


def test_a_registry_is_ready_when_every_kind_of_every_cluster_is_served() -> None:
    members = [cluster("m1"), cluster("m2")]
    served = {("m1", POD): "", ("m2", POD): ""}
    assert condition(selecting(""), members, served, "now").status == "True"
    waiting = condition(selecting(""), members, {("m1", POD): ""}, "now")
    assert (waiting.status, waiting.reason) == ("False", "NotCached")
    assert waiting.message == "Pod (v1) of cluster m2: it is being connected"


def test_what_the_proxy_put_into_an_object_is_taken_out_for_the_member() -> None:
    version = str(ResourceVersions({"m1": "7", "m2": "9"}))
    obj = {
        "metadata": {
            "resourceVersion": version,
            "annotations": {"resource.karmada.io/cached-from-cluster": "m2", "a": "b"},
        }
    }
    body, media = for_member(orjson.dumps(obj), "application/json", "m2")
    assert orjson.loads(body) == {"metadata": {"resourceVersion": "9", "annotations": {"a": "b"}}}
    assert media == "application/json"
    options = orjson.dumps({"preconditions": {"resourceVersion": version}})
    assert orjson.loads(for_member(options, "", "m1")[0])["preconditions"]["resourceVersion"] == "7"


@pytest.mark.parametrize("body", [b"", b"not json", b"[1]", b'{"metadata":{"resourceVersion":"12"}}'])
def test_what_holds_nothing_of_ours_is_passed_on_as_it_is(body: bytes) -> None:
    assert for_member(body, "application/json", "m1")[0] is body
