"""The controller of Karmada objects on a host without nodes: finalizer, status, suspension, deletion, strangers.

The operator has exactly the rights that it is installed with.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import pytest_asyncio
from tests.operator.site import SPACE

from karmada.api.finalizers import KARMADA as FINALIZER
from karmada.api.labels import DISABLE_CASCADING_DELETION as KEEP
from karmada.api.operator.v1alpha1 import Karmada
from karmada.api.version import IMAGE
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.pki import Authority
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.install.operator import operator
from karmada.machinery.client import Client
from karmada.machinery.controller import DONE, RequeueAfter
from karmada.machinery.errors import NotFound
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.cache import Key
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Request, Transport, Verb
from karmada.operator.controller import Operator

SECRETS = GroupVersionResource("", "v1", "secrets")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
STATEFUL_SETS = GroupVersionResource("apps", "v1", "statefulsets")
SERVICES = GroupVersionResource("", "v1", "services")
KARMADAS = GroupVersionResource("operator.karmada.io", "v1alpha1", "karmadas")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
pytestmark = pytest.mark.asyncio(loop_scope="module")
KEY = Key(SPACE, "demo")


class Reached:
    """A transport into a control plane whose API server reaches the one that serves clusters, whatever is there."""

    def __init__(self, inner: Transport) -> None:
        self.raw, self.watch, self._inner = inner.raw, inner.watch, inner

    async def send(self, request: Request) -> bytes:
        answer = await self._inner.send(request)
        if request.verb is Verb.GET and request.resource.resource == "apiservices":
            available = {"conditions": [{"type": "Available", "status": "True"}]}
            return orjson.dumps(orjson.loads(answer) | {"status": available})
        return answer

    async def close(self) -> None:
        """It is shared."""


class Site:
    """A host, an operator that works there when asked, and everything as an administrator sees it."""

    def __init__(self, server: ApiServer, hub: ApiServer, supervisor: Supervisor) -> None:
        self.admin = Client(server.direct(ADMIN))
        account = UserInfo(f"system:serviceaccount:{SPACE}:karmada-operator", groups=("system:authenticated",))
        self.client = Client(server.direct(account), field_manager="karmada-operator")
        self._informers = InformerFactory(self.client, supervisor)
        self._recorder = EventRecorder(self.client, "karmada-operator")
        self.operator = Operator(
            self.client, self._informers, self._recorder, lambda _: Client(Reached(hub.direct(ADMIN))), IMAGE
        )

        self._changed = asyncio.Event()
        self._karmadas = self._informers.of(Karmada)
        self._karmadas.add_handler(lambda _: self._changed.set())

    async def order(self, spec: dict[str, Any], **metadata: Any) -> None:
        about = {"name": "demo", "namespace": SPACE, **metadata}
        tree = {"apiVersion": "operator.karmada.io/v1alpha1", "kind": "Karmada", "metadata": about, "spec": spec}
        await self.admin.resource(KARMADAS).create(tree)

    async def change(self, patch: dict[str, Any]) -> None:
        await self.admin.resource(KARMADAS).patch("demo", patch, SPACE)

    async def reconcile(self) -> Any:
        """One pass, with the object as it is now."""
        present = await self._present()
        async with asyncio.timeout(30):
            await self._karmadas.synced()
            while self._seen() != present:
                self._changed.clear()
                await self._changed.wait()
        return await self.operator.reconcile(KEY)

    def _seen(self) -> str:
        found = self._karmadas.get("demo", SPACE)
        return found.metadata.resource_version if found is not None else ""

    async def _present(self) -> str:
        try:
            found = await self.admin.resource(KARMADAS).get("demo", SPACE)
        except NotFound:
            return ""
        return str(found["metadata"]["resourceVersion"])

    async def karmada(self) -> dict[str, Any]:
        return await self.admin.resource(KARMADAS).get("demo", SPACE)

    async def condition(self) -> tuple[str, str, str]:
        (found,) = (await self.karmada())["status"]["conditions"]
        return found["status"], found["reason"], found["message"]

    async def names(self, type_: GroupVersionResource) -> set[str]:
        return {one["metadata"]["name"] for one in (await self.admin.resource(type_).list(Scope(SPACE))).items}

    async def set_ready(self, type_: GroupVersionResource, name: str) -> None:
        """What a host with nodes would do."""
        found = await self.admin.resource(type_).get(name, SPACE)
        count = found["spec"]["replicas"]
        status = {"observedGeneration": found["metadata"]["generation"], "replicas": count}
        status |= {"readyReplicas": count, "updatedReplicas": count}
        await self.admin.resource(type_).patch(name, {"status": status}, SPACE, subresource="status")

    async def events(self) -> list[str]:
        await self._recorder.flush()
        found = (await self.admin.resource(GroupVersionResource("", "v1", "events")).list(Scope(SPACE))).items
        return [one["reason"] for one in found]

    async def until_ready(self) -> None:
        """Passes until the instance is ready, with everything that it waits for happening at once."""
        for _ in range(20):
            await self.reconcile()
            status, _, message = await self.condition()
            if status == "True":
                return
            kind, _, name = message.removeprefix("waiting for ").partition("/")
            assert kind in ("deployment", "statefulset"), message
            await self.set_ready(DEPLOYMENTS if kind == "deployment" else STATEFUL_SETS, name)
        raise AssertionError(await self.condition())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hub() -> AsyncIterator[ApiServer]:
    """A control plane; filling a new one takes longer than all tests, so they share it."""
    async with ApiServer() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def site(hub: ApiServer) -> AsyncIterator[Site]:
    async with ApiServer() as server, Supervisor() as supervisor:
        admin = Client(server.direct(ADMIN))
        await admin.resource(NAMESPACES).create({"metadata": {"name": SPACE}})
        for tree in operator(SPACE, IMAGE):
            served = await admin.mapper.of_kind(tree["apiVersion"], tree["kind"])
            await admin.resource(served.type).create(tree)
        yield Site(server, hub, supervisor)


async def test_an_instance_comes_up_step_by_step_and_its_status_says_what_is_waited_for(site: Site) -> None:
    await site.order({})
    assert await site.reconcile() == RequeueAfter(1.0)
    assert await site.condition() == ("False", "Progressing", "waiting for statefulset/demo-karmada-etcd")
    assert await site.names(DEPLOYMENTS) == {"karmada-operator"}
    about = (await site.karmada())["metadata"]
    assert about["finalizers"] == [FINALIZER]
    assert about["labels"] == {KEEP: "false"}
    await site.until_ready()
    assert await site.condition() == ("True", "Completed", "karmada init job is completed")
    status = (await site.karmada())["status"]
    assert status["observedGeneration"] == 1
    assert status["secretRef"] == {"namespace": SPACE, "name": "demo-karmada-admin-config"}
    assert status["apiServerService"] == {"name": "demo-karmada-apiserver"}
    assert status["karmadaVersion"]
    assert status["kubernetesVersion"].startswith("v1.")


async def test_a_pass_over_what_is_as_it_should_be_writes_nothing(site: Site) -> None:
    await site.order({})
    await site.until_ready()

    async def versions() -> dict[str, str]:
        found = {}
        for type_ in (DEPLOYMENTS, STATEFUL_SETS, SERVICES, SECRETS, KARMADAS):
            for one in (await site.admin.resource(type_).list(Scope(SPACE))).items:
                found[f"{type_.resource}/{one['metadata']['name']}"] = one["metadata"]["resourceVersion"]
        return found

    before = await versions()
    assert await site.reconcile() == RequeueAfter(300.0)
    assert await versions() == before


async def test_what_others_changed_is_put_back_and_what_is_no_longer_wanted_goes(site: Site) -> None:
    await site.order({"components": {"etcd": {"local": {}}, "karmadaDescheduler": {}}})
    await site.until_ready()
    assert "demo-karmada-descheduler" in await site.names(DEPLOYMENTS)
    patch = {"spec": {"template": {"spec": {"serviceAccountName": "default"}}}}
    await site.admin.resource(DEPLOYMENTS).patch("demo-karmada-scheduler", patch, SPACE)
    await site.change({"spec": {"components": {"karmadaDescheduler": None}}})
    await site.until_ready()
    assert "demo-karmada-descheduler" not in await site.names(DEPLOYMENTS)
    found = await site.admin.resource(DEPLOYMENTS).get("demo-karmada-scheduler", SPACE)
    assert found["spec"]["template"]["spec"]["serviceAccountName"] == "demo-karmada-scheduler"


async def test_a_wrong_object_is_refused_in_its_condition_and_an_event_and_nothing_is_made(site: Site) -> None:
    await site.order({"components": {"etcd": {}}})
    assert await site.reconcile() == DONE
    status, reason, message = await site.condition()
    assert (status, reason) == ("False", "ValidationError")
    assert "spec.components.etcd: unexpected empty etcd configuration" in message
    assert await site.events() == ["ValidationError"]
    assert not await site.names(SECRETS)


async def test_a_suspended_instance_is_left_alone(site: Site) -> None:
    await site.order({"suspend": True})
    assert await site.reconcile() == DONE
    assert "status" not in await site.karmada()
    assert not await site.names(SECRETS)


async def test_deletion_removes_all_that_was_made_and_nothing_else(site: Site) -> None:
    await site.order({})
    await site.until_ready()
    await site.admin.resource(SECRETS).create({"metadata": {"name": "demo-karmada-mine"}}, SPACE)
    await site.admin.resource(KARMADAS).delete("demo", SPACE)
    for _ in range(3):
        await site.reconcile()
    with pytest.raises(NotFound):
        await site.karmada()
    assert await site.names(SECRETS) == {"demo-karmada-mine"}
    assert not await site.names(STATEFUL_SETS)
    assert not await site.names(SERVICES)
    assert await site.names(DEPLOYMENTS) == {"karmada-operator"}


async def test_with_cascading_deletion_disabled_everything_stays(site: Site) -> None:
    await site.order({}, labels={KEEP: "true"})
    await site.until_ready()
    before = await site.names(SECRETS)
    await site.admin.resource(KARMADAS).delete("demo", SPACE)
    await site.reconcile()
    with pytest.raises(NotFound):
        await site.karmada()
    assert await site.names(SECRETS) == before
    assert "demo-karmada-apiserver" in await site.names(DEPLOYMENTS)


async def test_an_object_of_somebody_else_is_not_touched(site: Site) -> None:
    content = {"stranger": base64.b64encode(b"keep").decode()}
    await site.admin.resource(SECRETS).create({"metadata": {"name": "demo-karmada-cert"}, "data": content}, SPACE)
    await site.order({})
    await site.reconcile()
    status, reason, message = await site.condition()
    assert (status, reason) == ("False", "Failed")
    assert message.startswith("secret/demo-karmada-cert exists and is not of this Karmada")
    assert (await site.admin.resource(SECRETS).get("demo-karmada-cert", SPACE))["data"] == content


async def test_certificates_are_issued_once_and_an_authority_of_the_user_replaces_them(site: Site) -> None:
    await site.order({})
    await site.until_ready()

    async def server() -> Any:
        return (await site.admin.resource(SECRETS).get("demo-karmada-apiserver-cert", SPACE))["data"]

    before = await server()
    await site.reconcile()
    assert await server() == before
    own = Authority.create("mine")
    pair = {"tls.crt": own.certificate_pem, "tls.key": own.key_pem}
    data = {key: base64.b64encode(value).decode() for key, value in pair.items()}
    await site.admin.resource(SECRETS).create({"metadata": {"name": "mine"}, "data": data}, SPACE)
    await site.change({"spec": {"customCertificate": {"apiServerCACert": {"name": "mine"}}}})
    await site.until_ready()
    after = await server()
    assert after["ca.crt"] == data["tls.crt"]
    assert after["tls.crt"] != before["tls.crt"]


@pytest.mark.parametrize(
    ("patch", "name"),
    [
        (
            {"metadata": {"annotations": {"operator.karmada.io/flavour": "embedded"}}},
            "deployment/demo-karmada-apiserver",
        ),
        (
            {
                "spec": {
                    "components": {
                        "etcd": {
                            "local": None,
                            "external": {
                                "endpoints": ["https://elsewhere:2379"],
                                "secretRef": {"name": "demo-karmada-etcd-cert"},
                            },
                        }
                    }
                }
            },
            "statefulset/demo-karmada-etcd",
        ),
    ],
    ids=["flavour", "etcd"],
)
async def test_data_of_a_running_instance_is_not_left_behind(site: Site, patch: dict[str, Any], name: str) -> None:
    await site.order({"components": {"etcd": {"local": {}}}})
    await site.reconcile()
    await site.set_ready(STATEFUL_SETS, "demo-karmada-etcd")
    await site.reconcile()
    await site.change(patch)
    await site.reconcile()
    status, reason, message = await site.condition()
    assert (status, reason) == ("False", "Failed")
    assert message.startswith(f"{name} holds this instance's data")
    assert "demo-karmada-etcd" in await site.names(STATEFUL_SETS)


async def test_members_of_etcd_are_not_changed_by_a_number(site: Site) -> None:
    await site.order({"components": {"etcd": {"local": {}}}})
    await site.until_ready()
    await site.change({"spec": {"components": {"etcd": {"local": {"replicas": 3}}}}})
    await site.reconcile()
    status, reason, message = await site.condition()
    assert (status, reason) == ("False", "Failed")
    assert message.startswith("spec.components.etcd.local.replicas: etcd has 1 member and cannot get 3 by itself")


async def test_an_upgrade_waits_for_each_group_before_it_touches_the_next(site: Site) -> None:
    await site.order({"components": {"etcd": {"local": {}}}})
    await site.until_ready()

    async def images() -> dict[str, str]:
        found = {}
        for type_ in (STATEFUL_SETS, DEPLOYMENTS):
            for one in (await site.admin.resource(type_).list(Scope(SPACE))).items:
                name = one["metadata"]["name"].removeprefix("demo-karmada-")
                found[name] = one["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2]
        return found

    new = {"imageTag": "new"}
    parts = {"karmadaAPIServer": new, "karmadaAggregatedAPIServer": new, "karmadaScheduler": new}
    await site.change({"spec": {"components": {"etcd": {"local": new}, **parts}}})
    order = [("etcd", STATEFUL_SETS), ("apiserver", DEPLOYMENTS), ("aggregated-apiserver", DEPLOYMENTS)]
    for name, type_ in order:
        await site.reconcile()
        upgraded = {part for part, tag in (await images()).items() if tag == "new"}
        assert upgraded == {part for part, _ in order[: order.index((name, type_)) + 1]}
        await site.set_ready(type_, f"demo-karmada-{name}")
    await site.until_ready()
    assert (await images())["scheduler"] == "new"
