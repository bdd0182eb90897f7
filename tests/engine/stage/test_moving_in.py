"""Taking over an installation of the reference with its etcd: what it stored is in etcd before anybody looks.

Objects are written straight into etcd, as the reference's API server kept them, ids and all. Its aggregated API server
keeps Clusters in a form of its own and stays (docs/migrating-from-karmada.md), so here clusters are joined.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.engine import recordings
from tests.engine.test_moving_in import PROPAGATED, SCENARIOS, decided
from tests.engine.world import deployment

from karmada.apiserver.storage.etcd.client import EtcdClient, Tls
from karmada.machinery.client import Client
from karmada.testing.stage.federation import CONTROLLERS, SCHEDULER, Stage, StageOptions, eventually
from karmada.testing.stage.servers import KubeApiServer

from .conftest import DEPLOYMENTS, POLICIES, QUICK
from .steps import PATIENCE, arrive, policy

OWN = "karmada-cluster"
"""Namespace of the credentials of Karmada; Kubernetes notes when they were last used."""
NOT_DECIDED_HERE = ("resourceVersion", "managedFields")


class Store:
    """The etcd of the stage, written past all API servers."""

    def __init__(self, stage: Stage) -> None:
        folder = stage.etcd.folder
        files = [(folder / name).read_bytes() for name in ("ca.crt", "client.crt", "client.key")]
        self.client = EtcdClient((f"127.0.0.1:{stage.etcd.port}",), Tls(*files))

    async def load(self, server: KubeApiServer, client: Client, obj: dict[str, Any]) -> None:
        """Put an object where an API server looks for it, unless there is one."""
        served = await client.mapper.of_kind(obj["apiVersion"], obj["kind"])
        group, metadata = served.type.group, obj["metadata"]
        # Kinds of Kubernetes itself lie without their group.
        folder = f"{group}/{served.type.resource}" if group.endswith(".karmada.io") else served.type.resource
        place = [metadata["namespace"], metadata["name"]] if served.namespaced else [metadata["name"]]
        await self.client.put("/".join([server.prefix, folder, *place]).encode(), json.dumps(_stored(obj)).encode(), 0)


def _stored(obj: dict[str, Any]) -> dict[str, Any]:
    """As stored: with an id and a time of birth, which recordings leave out of some."""
    metadata = {"creationTimestamp": "2026-01-01T00:00:00Z", "uid": str(recordings.SPACE), **obj["metadata"]}
    for field in NOT_DECIDED_HERE:
        metadata.pop(field, None)
    return {**obj, "metadata": metadata}


async def held(members: dict[str, Client]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Every propagated object of the members.

    Without revisions: what was loaded as JSON gets one when an API server writes the same again in its own encoding.
    """
    found = {}
    for name, member in members.items():
        for type_ in PROPAGATED:
            for obj in (await member.resource(type_).list()).items:
                space, called = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
                if space != OWN:
                    obj["metadata"].pop("resourceVersion")
                    found[name, type_.resource, f"{space}/{called}"] = obj
    return found


@pytest.mark.skipif(not recordings.TRACES.is_dir(), reason="needs ../shared/golden/traces")
async def test_nothing_changes_in_members_when_components_take_over_an_etcd(tmp_path: Path) -> None:
    options = StageOptions(tmp_path, workloads=False, flags={CONTROLLERS: list(QUICK)})
    async with Stage(options) as stage:
        await stage.join_all()
        clients = {name: server.client() for name, server in stage.members.items()}
        servers = {"karmada": (stage.hub, stage.client)}
        servers |= {name: (stage.members[name], clients[name]) for name in clients}
        store = Store(stage)
        loaded: Counter[str] = Counter()
        for scenario in SCENARIOS:
            found = recordings.recording(scenario)
            for name, tree in {"karmada": found["karmada"], **found["members"]}.items():
                # Owners first: the garbage collector looks on.
                for obj in sorted(recordings.objects(tree), key=lambda obj: "ownerReferences" in obj["metadata"]):
                    space = obj["metadata"].get("namespace")
                    if space and name != "karmada":
                        await store.load(*servers[name], _namespace(space))
                    await store.load(*servers[name], obj)
                    loaded[name] += 1
        await store.client.close()
        assert loaded.total() > 100

        async def seen() -> bool:
            return len(await decided(stage.client)) > 60

        await eventually(seen, PATIENCE)
        before, was = await decided(stage.client), await held(clients)

        manager = await stage.start(CONTROLLERS)
        await stage.start(SCHEDULER)
        await stage.ready()
        await stage.client.resource(POLICIES).create(policy())
        await stage.client.resource(DEPLOYMENTS).create(deployment("marker"))
        await arrive(clients, "marker")
        await eventually(manager.idle, PATIENCE)

        now = await held(clients)
        assert {key: now.get(key) for key in was} == was
        after = await decided(stage.client)
        assert {name: after.get(name) for name in before} == before
        for client in clients.values():
            await client.close()


def _namespace(name: str) -> dict[str, Any]:
    labels = {"kubernetes.io/metadata.name": name}
    tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    return {**tree, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
