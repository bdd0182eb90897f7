"""The metrics adapter as a server of its own, with the rights of its role and no more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.direct import DirectTransport
from karmada.apiserver.groupserver import GroupServer, Trust
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.metrics_adapter.api import COMPONENT, MetricsApi
from karmada.metrics_adapter.main import parser
from karmada.testing.federation import Federation

NODE_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "nodes")


@asynccontextmanager
async def adapter(federation: Federation) -> AsyncIterator[GroupServer]:
    hub = federation.plane.component(COMPONENT)
    api = MetricsApi()
    try:
        async with GroupServer([api.local], hub, Trust(), name=COMPONENT) as server:
            informers = InformerFactory(hub, server.supervisor)
            api.connect(informers, federation.plane.members)
            await asyncio.wait_for(informers.synced(), 20)
            yield server
    finally:
        await api.close()


async def test_a_server_beside_the_control_plane_answers_by_its_roles() -> None:
    async with Federation(2) as federation, adapter(federation) as server:
        nodes = (await Client(server.direct()).resource(NODE_METRICS).list(page_size=0)).items
        assert {one["metadata"]["name"].partition("-")[0] for one in nodes} == {"member1", "member2"}
        stranger = DirectTransport(server.dispatcher, UserInfo("stranger", ("system:authenticated",)))
        with pytest.raises(Forbidden):
            await Client(stranger).resource(NODE_METRICS).list(Scope())


def test_the_flags_of_karmada_are_accepted() -> None:
    flags = ["--kubeconfig=k", "--authentication-kubeconfig=k", "--client-ca-file=c", "--cluster-api-qps=40"]
    assert parser().parse([*flags, "--tls-cert-file=c", "--tls-private-key-file=k", "--secure-port=4443"])
