"""The Python client, synchronous and asyncio, against a control plane that listens."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.cli.samples import SHOP
from tests.cli.world import World

import karmada
from karmada.api import yaml
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.policy.v1alpha1 import PropagationPolicy
from karmada.connecting import WaitTimeout
from karmada.machinery.errors import NotFound


def test_a_program_applies_waits_reads_and_asks_why(federation: World, tmp_path: Path) -> None:
    space = federation.namespace()
    file = tmp_path / "shop.yaml"
    file.write_text(SHOP)
    with karmada.connect(federation.kubeconfig) as hub:
        applied = hub.apply(file, namespace=space)
        assert [item["kind"] for item in applied] == ["Deployment", "Service", "PropagationPolicy", "OverridePolicy"]
        hub.wait("Deployment", "shop", lambda item: item.get("status", {}).get("readyReplicas") == 3, space)
        assert {"member1", "member2", "member3"} <= set(hub.members())
        assert {cluster.metadata.name for cluster in hub.list(Cluster)} >= {"member1", "member2", "member3"}
        policy = hub.get(PropagationPolicy, "shop", space)
        assert policy.spec.resource_selectors[0].name == "shop"
        pods = hub.member("member1").list("pods", space, labels="app=shop")
        assert len(pods) == 2
        assert hub.why("deployment", "shop", space).endswith("Nothing is broken.\n")
        assert "Pod shop-" in hub.tree("deploy", "shop", space)
        first = next(hub.watch("Deployment", space, name="shop"))
        assert (first.type.value, first.object["metadata"]["name"]) == ("ADDED", "shop")
        hub.delete("Deployment", "shop", space)
        with pytest.raises(NotFound):
            hub.get("configmap", "absent", space)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("shop.yaml", r'for the file write Path\("shop.yaml"\)'),
        ("kind: ConfigMap", "a document lacks apiVersion or kind"),
        ("just words", "a document lacks apiVersion or kind"),
        ({"kind": "ConfigMap"}, "an object lacks apiVersion, metadata"),
    ],
    ids=["a name", "half an object", "words", "half a tree"],
)
def test_what_is_no_manifest_is_refused_with_a_sentence(
    federation: World, source: str | dict[str, Any], message: str
) -> None:
    with karmada.connect(federation.kubeconfig) as hub, pytest.raises(ValueError, match=message):
        hub.apply(source)


def test_a_list_of_objects_is_applied_one_by_one(federation: World) -> None:
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    text = yaml.dump({"apiVersion": "v1", "kind": "List", "items": [item]})
    with karmada.connect(federation.kubeconfig) as hub:
        (done,) = hub.apply(text, namespace=federation.namespace())
        assert done["metadata"]["name"] == "one"


def test_a_wait_in_vain_says_why(federation: World) -> None:
    space = federation.namespace()
    with karmada.connect(federation.kubeconfig) as hub:
        hub.apply(next(iter(SHOP.split("---"))), namespace=space)
        with pytest.raises(WaitTimeout, match="no policy"):
            hub.wait("Deployment", "shop", lambda item: item["status"]["readyReplicas"], space, timeout=0.3)


def test_a_program_with_an_event_loop_does_the_same(federation: World) -> None:
    space = federation.namespace()

    async def work() -> list[str]:
        async with karmada.connect_async(federation.kubeconfig) as hub:
            await hub.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, namespace=space)
            one, members = await asyncio.gather(hub.get("cm", "a", space), hub.members())
            assert one["metadata"]["namespace"] == space
            return members

    assert "member1" in asyncio.run(work())
