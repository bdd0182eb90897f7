"""The Cluster API as clients meet it."""

from typing import Any

import orjson
import pytest
from tests.membership.world import eventually

from karmada.machinery.errors import Forbidden, Invalid
from karmada.machinery.transport import Request, Verb
from karmada.membership import objects
from karmada.membership.cluster_rules import problems

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def cluster(name: str = "m1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push", **spec},
    }


async def test_the_table_shows_version_mode_and_readiness(world: Any) -> None:
    await world.hub.resource(objects.CLUSTERS).create(cluster(zones=["a", "b"], region="east"))
    body = await world.hub.transport.send(Request(Verb.LIST, objects.CLUSTERS, accept=TABLE))
    table = orjson.loads(body)
    shown = [(c["name"], c["priority"]) for c in table["columnDefinitions"]]
    assert [name for name, priority in shown if not priority] == ["Name", "Version", "Mode", "Ready", "Age"]
    wide = [name for name, priority in shown if priority]
    assert wide == ["Zones", "Region", "Provider", "API-Endpoint", "Proxy-URL"]
    cells = table["rows"][0]["cells"]
    assert cells[0] == "m1"
    assert cells[2] == "Push"
    assert cells[5:] == ["a,b", "east", "<none>", "<none>", "<none>"]


async def test_a_cluster_without_a_secret_says_so_in_its_condition(world: Any) -> None:
    await world.hub.resource(objects.CLUSTERS).create(cluster(apiEndpoint="https://127.0.0.1:1"))

    async def reported() -> bool:
        found = await world.hub.resource(objects.CLUSTERS).get("m1")
        return any("does not have a secret" in c["message"] for c in found["status"]["conditions"])

    await eventually(reported)


async def test_a_status_needs_the_shape_of_one_and_no_more(world: Any) -> None:
    clusters = world.hub.resource(objects.CLUSTERS)
    made = await clusters.create(cluster())
    condition = {"type": "NetworkReady", "status": "False", "lastTransitionTime": "2024-01-01T00:00:00Z"}
    spoken = made | {"status": {"conditions": [condition | {"reason": "", "message": ""}]}}
    del spoken["metadata"]["resourceVersion"]
    written = await clusters.update_status(spoken)
    assert written["status"]["conditions"][0]["type"] == "NetworkReady"
    with pytest.raises(Invalid):
        await clusters.update_status(spoken | {"status": {"conditions": "none"}})


async def test_what_is_written_is_kept_in_one_form(world: Any) -> None:
    made = await world.hub.resource(objects.CLUSTERS).create(
        cluster(zone="a", taints=[{"key": "k", "effect": "NoExecute"}])
    )
    assert made["spec"]["zones"] == ["a"]
    assert "zone" not in made["spec"]
    again = await world.hub.resource(objects.CLUSTERS).patch("m1", {"spec": {"zone": "a"}})
    assert again["spec"] == made["spec"], "what is applied again is the same again"
    assert made["spec"]["taints"][0]["timeAdded"]
    assert len(made["spec"]["resourceModels"]) == 9
    assert made["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"syncMode": "X"}, "spec.syncMode"),
        ({"apiEndpoint": "https://user@host"}, "spec.apiEndpoint"),
        ({"proxyURL": "ftp://x"}, "spec.proxyURL"),
        ({"zones": ["no good"]}, "spec.Zones"),
        ({"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}, "spec.taints[0].effect"),
        ({"resourceModels": [{"grade": 0}, {"grade": 0}]}, "spec.resourceModels"),
    ],
    ids=["mode", "user in endpoint", "proxy scheme", "zone", "effect", "grade"],
)
async def test_refusals_name_the_field(world: Any, spec: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        await world.hub.resource(objects.CLUSTERS).create(cluster(**spec))
    assert field in [cause["field"] for cause in refused.value.causes]


@pytest.mark.parametrize(
    "spec",
    [
        {"apiEndpoint": "https://user:hunter2@host"},
        {"apiEndpoint": "https://user:hunter2@host:no"},
        {"proxyURL": "ftp://user:hunter2@proxy"},
        {"proxyURL": "http://user:hunter2@proxy:no"},
        {
            "proxyURL": "http://user:hunter2@proxy",
            "proxyHeader": {"Proxy-Authorization": "hunter2"},
            "zone": "a",
            "zones": ["b"],
        },
    ],
    ids=["endpoint", "no endpoint", "scheme", "no proxy", "the whole spec"],
)
async def test_refusals_quote_no_password(world: Any, spec: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        await world.hub.resource(objects.CLUSTERS).create(cluster(**spec))
    assert "hunter2" not in str(refused.value.causes)
    assert "hunter2" not in refused.value.message


async def test_an_update_through_status_cannot_change_the_spec(world: Any) -> None:
    made = await world.hub.resource(objects.CLUSTERS).create(cluster())
    made["spec"]["region"] = "west"
    made["status"] = {"kubernetesVersion": "v1.30.0"}
    made["metadata"].pop("resourceVersion")
    after = await world.hub.resource(objects.CLUSTERS).update(made, "status")
    assert "region" not in after["spec"]
    assert after["status"]["kubernetesVersion"] == "v1.30.0"


async def test_a_protected_cluster_cannot_be_deleted(world: Any) -> None:
    protected = cluster()
    protected["metadata"]["labels"] = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
    await world.hub.resource(objects.CLUSTERS).create(protected)
    with pytest.raises(Forbidden, match="This resource is protected"):
        await world.hub.resource(objects.CLUSTERS).delete("m1")


def test_everything_odd_about_a_spec_is_reported_and_null_counts_as_nothing() -> None:
    spec = {
        "syncMode": "Push",
        "proxyURL": ":",
        "provider": "no good",
        "taints": [None, {"key": "k", "effect": "NoSchedule", "value": "v"}, {"key": "k", "effect": "NoSchedule"}],
    }
    reported = {str(error).partition(" (e.g.")[0] for error in problems(spec)}
    assert (
        'spec.proxyURL: Invalid value: ":": apiEndpoint must be a valid URL: parse ":": missing protocol scheme'
        in reported
    )
    assert "spec.taints[0].effect: Required value" in reported
    assert (
        'spec.taints[2]: Duplicate value: {"key":"k","effect":"NoSchedule"}: '
        "taints must be unique by key and effect pair"
    ) in reported


def test_a_spec_with_both_forms_of_zones_is_quoted_without_its_secrets() -> None:
    spec = {"syncMode": "Push", "zone": "a", "zones": ["b"], "proxyHeader": {"k": "hunter2"}, "taints": []}
    (reported,) = map(str, problems(spec))
    assert '"ProxyHeader":{"k":"xxxxx"}' in reported
    assert '"zones":["b"],"Taints":[],"ResourceModels":null' in reported
