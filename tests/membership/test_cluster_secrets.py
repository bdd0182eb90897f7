"""Whoever may write Clusters and not read Secrets has none of them sent anywhere."""

from contextlib import AsyncExitStack
from typing import Any

import pytest

from karmada.aggregated.api import ClusterApi
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden
from karmada.membership import objects

OWN = {"namespace": "karmada-cluster", "name": "m1"}
ANOTHERS = {"namespace": "team-b", "name": "robot-token"}
HERE = {"syncMode": "Push", "apiEndpoint": "https://m1.example", "secretRef": OWN}


def rule(group: str, resource: str, verbs: list[str], *names: str) -> dict[str, Any]:
    made: dict[str, Any] = {"apiGroups": [group], "resources": [resource], "verbs": verbs}
    return made | {"resourceNames": list(names)} if names else made


@pytest.fixture
async def server() -> Any:
    async with AsyncExitStack() as stack:
        clusters = ClusterApi()
        server = await stack.enter_async_context(ApiServer(ApiServerOptions(apis=[clusters.local])))
        hub = Client(server.direct(ADMIN))
        clusters.connect(hub, server.store, server.authorizer)
        await hub.resource(objects.NAMESPACES).create({"metadata": {"name": "karmada-cluster"}})
        rules = [rule("cluster.karmada.io", "clusters", ["create", "patch"])]
        await hub.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("clusters", rules, {}))
        subject = objects.user_subject("joiner")
        await hub.resource(objects.CLUSTER_ROLE_BINDINGS).create(objects.cluster_role_binding("clusters", subject))
        reading = [rule("", "secrets", ["get"], "m1")]
        await hub.resource(objects.ROLES).create(objects.role("clusters", "karmada-cluster", reading))
        await hub.resource(objects.ROLE_BINDINGS).create(objects.role_binding("clusters", "karmada-cluster", subject))
        yield server


def of(server: ApiServer, user: UserInfo) -> Any:
    return Client(server.direct(user)).resource(objects.CLUSTERS)


JOINER = UserInfo("joiner", ("system:authenticated",))


@pytest.mark.parametrize("field", ["secretRef", "impersonatorSecretRef"])
async def test_a_cluster_names_only_secrets_that_its_author_may_read(server: ApiServer, field: str) -> None:
    clusters = of(server, JOINER)
    spec = {"syncMode": "Push", "apiEndpoint": "https://listening.example"}
    with pytest.raises(Forbidden, match=f"spec.{field}: you may not read Secret team-b/robot-token"):
        await clusters.create({"metadata": {"name": "trap"}, "spec": spec | {field: ANOTHERS}})
    await clusters.create({"metadata": {"name": "m1"}, "spec": spec | {field: OWN}})
    with pytest.raises(Forbidden, match=f"spec.{field}: you may not read"):
        await clusters.patch("m1", {"spec": {field: ANOTHERS}})


@pytest.mark.parametrize(
    "elsewhere",
    [{"apiEndpoint": "https://listening.example"}, {"proxyURL": "https://listening.example"}, {"syncMode": "Pull"}],
    ids=["the address", "the proxy", "the mode"],
)
async def test_a_secret_is_sent_elsewhere_only_by_who_may_read_it(server: ApiServer, elsewhere: Any) -> None:
    admin, clusters = of(server, ADMIN), of(server, JOINER)
    await admin.create({"metadata": {"name": "m2"}, "spec": HERE | {"secretRef": {**OWN, "name": "m2"}}})
    with pytest.raises(Forbidden, match="you may not read Secret karmada-cluster/m2"):
        await clusters.patch("m2", {"spec": elsewhere})
    await clusters.patch("m2", {"metadata": {"labels": {"env": "prod"}}, "spec": {"region": "north"}})
    await clusters.create({"metadata": {"name": "m1"}, "spec": HERE})
    await clusters.patch("m1", {"spec": elsewhere})
    await admin.patch("m2", {"spec": elsewhere})
