"""OpenSearch as a backend: what is sent, and that nothing is lost whatever it does or however often search restarts."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest
from tests.membership.world import eventually
from tests.search.fake_opensearch import FakeOpenSearch, listening, refuse
from tests.search.world import PODS, pod

from karmada.api.cluster.v1alpha1 import Cluster, ClusterSpec
from karmada.api.meta import ObjectMeta
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import Transport
from karmada.membership import objects
from karmada.membership.connections import PushMembers
from karmada.search.caches import Caches
from karmada.search.fulltext import FullText
from karmada.search.kinds import Kinds
from karmada.search.opensearch.backends import Backends
from karmada.search.opensearch.documents import Outcome, Verdict, document, outcomes
from karmada.search.opensearch.model import BackendRef, State
from karmada.search.opensearch.queue import LIMIT
from karmada.search.plan import KindRef, Part

POD = KindRef("v1", "Pod")
QUICK = BackoffPolicy(initial=0.02, maximum=0.05)
CLUSTER = Cluster(metadata=ObjectMeta(name="member1", uid="u1"), spec=ClusterSpec(sync_mode="Push"))


class Sending:
    """A search that sends the pods of one member to one OpenSearch."""

    def __init__(self, backends: Backends, caches: Caches, ref: BackendRef) -> None:
        self.backends = backends
        self.caches = caches
        self.ref = ref

    @property
    def state(self) -> State:
        return self.backends.state(self.ref)

    async def reaches(self, reason: str) -> State:
        """Wait for a state."""

        async def reached() -> State | None:
            return self.state if self.state.reason == reason else None

        found: State = await eventually(reached)
        return found

    async def select(self, *namespaces: str) -> None:
        member = self.caches.member("member1")
        assert member is not None
        await self.backends.apply("member1", {self.ref: {POD: frozenset(namespaces)}}, member.mirrors.values())


class World:
    """An API server that is control plane and member, and what is sent from it."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self.client = Client(server.direct(ADMIN))
        self.pods = self.client.resource(PODS)

    @asynccontextmanager
    async def sending(self, address: str, secret: str = "", limit: int = LIMIT) -> AsyncIterator[Sending]:
        """A process, until it is stopped."""

        async def opened(cluster: Cluster) -> Transport:
            return self._server.direct(ADMIN)

        async with Supervisor(REAL) as supervisor:
            caches = Caches(PushMembers(opened, REAL), Kinds(), supervisor, REAL)
            caches.index = FullText(self._folder / "search.sqlite")
            supervisor.start("index", caches.index.run)
            backends = Backends(self.client, supervisor, REAL, self._folder, limit, QUICK)
            supervisor.start("queues", backends.run)
            await caches.apply(CLUSTER, {POD: Part()})
            sending = Sending(backends, caches, BackendRef((address,), "default" if secret else "", secret))
            await backends.retain([sending.ref])
            await sending.select()
            yield sending

    async def make(self, *names: str) -> None:
        for name in names:
            await self.pods.create(pod(name, app=name))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with ApiServer() as server:
        yield World(server, tmp_path)


async def has(fake: FakeOpenSearch, *names: str) -> None:
    async def same() -> bool:
        return fake.names() == sorted(names)

    await eventually(same)


def test_a_document_has_the_fields_that_clients_of_the_reference_look_for() -> None:
    body = orjson.dumps(
        {
            "metadata": {
                "name": "web",
                "namespace": "default",
                "uid": "u",
                "resourceVersion": "7",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"a": "b"},
                "annotations": {"resource.karmada.io/cached-from-cluster": "member1"},
                "managedFields": [{}],
            },
            "spec": {"replicas": 2},
        }
    )
    assert orjson.loads(document(body, "apps/v1", "Deployment")) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"a": "b"},
            "annotations": {"resource.karmada.io/cached-from-cluster": "member1"},
            "deletionTimestamp": None,
        },
        "spec": '{"replicas":2}',
        "status": "null",
    }


def test_the_data_of_a_secret_is_in_no_document() -> None:
    applied = '{"data":{"password":"aHVudGVyMg=="}}'
    metadata = {"name": "s", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied}}
    body = orjson.dumps({"metadata": metadata, "data": {"password": "aHVudGVyMg=="}})
    assert b"aHVudGVyMg" not in document(body, "v1", "Secret")


@pytest.mark.parametrize(
    ("item", "verdict"),
    [
        ({"index": {"status": 201}}, Verdict.DONE),
        ({"delete": {"status": 404}}, Verdict.DONE),
        ({"index": {"status": 404, "error": {"type": "index_not_found_exception"}}}, Verdict.AGAIN),
        ({"index": {"status": 429, "error": {"type": "rejected_execution_exception"}}}, Verdict.AGAIN),
        ({"index": {"status": 503, "error": "unavailable_shards"}}, Verdict.AGAIN),
        ({"index": {"status": 400, "error": {"type": "mapper_parsing_exception"}}}, Verdict.REFUSED),
        ({"index": {"status": 403, "error": {"type": "security_exception"}}}, Verdict.FORBIDDEN),
    ],
)
def test_each_document_of_a_bulk_is_judged_by_its_own_status(item: dict[str, object], verdict: Verdict) -> None:
    (found,) = outcomes(orjson.dumps({"errors": True, "items": [item]}), 1)
    assert found.verdict is verdict


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"items":[]}', b'{"items":[{}]}', b'{"items":[{"index":{}}]}'])
def test_an_answer_that_does_not_say_is_no_success(answer: bytes) -> None:
    assert outcomes(answer, 1) == [Outcome(Verdict.AGAIN, "its answer to a bulk request cannot be read")]


async def test_objects_are_sent_changed_and_deleted(world: World) -> None:
    await world.make("a", "b")
    async with listening(FakeOpenSearch()) as fake, world.sending(fake.address) as sending:
        await has(fake, "a", "b")
        assert fake.mappings["kubernetes-pod"]["settings"]["index"]["number_of_replicas"] == 0
        (uid,) = [uid for uid, each in fake.indices["kubernetes-pod"].items() if each["metadata"]["name"] == "a"]
        assert uid == (await world.pods.get("a", "default"))["metadata"]["uid"]
        annotations = fake.indices["kubernetes-pod"][uid]["metadata"]["annotations"]
        assert annotations["resource.karmada.io/cached-from-cluster"] == "member1"
        await world.make("c")
        await world.pods.patch("a", {"metadata": {"labels": {"new": "label"}}}, "default")
        await world.pods.delete("b", "default")
        await has(fake, "a", "c")

        async def labelled() -> bool:
            return fake.indices["kubernetes-pod"][uid]["metadata"]["labels"] == {"app": "a", "new": "label"}

        await eventually(labelled)
        assert await sending.reaches("Sent") == State(True, "Sent", "changes are sent to OpenSearch")
        await sending.select("other")
        await has(fake)


async def test_what_happens_while_it_is_down_arrives_when_it_is_up(world: World) -> None:
    await world.make("a", "b")
    fake = FakeOpenSearch()
    async with listening(fake):
        address, port = fake.address, int(fake.address.rpartition(":")[2])
        async with world.sending(address) as sending:
            await has(fake, "a", "b")
            await sending.reaches("Sent")
    async with world.sending(address) as sending:
        await sending.reaches("OpenSearchUnavailable")
        await world.pods.delete("a", "default")
        await world.make("c", "passing")
        await world.pods.delete("passing", "default")
    await world.pods.delete("b", "default")  # nobody looks
    await world.make("d")
    async with world.sending(address) as sending:
        found = await sending.reaches("OpenSearchUnavailable")
        assert "changes wait: no connection to" in found.message
        async with listening(fake, port):
            await has(fake, "c", "d")
            await sending.reaches("Sent")


async def test_a_restart_sends_nothing_again(world: World) -> None:
    await world.make("a", "b")
    async with listening(FakeOpenSearch()) as fake:
        async with world.sending(fake.address):
            await has(fake, "a", "b")
            # What follows is sent once it is recorded that these were.
            await world.make("last")
            await has(fake, "a", "b", "last")
        bulks = fake.requests["POST /_bulk"]
        async with world.sending(fake.address):
            await world.make("c")
            await has(fake, "a", "b", "c", "last")
        sent = b"".join([each.body for each in fake.seen if each.path == "/_bulk"][bulks:])
        assert b'"name":"c"' in sent
        assert b'"name":"a"' not in sent
        assert b'"name":"b"' not in sent


@pytest.mark.parametrize(("status", "reason"), [(429, "OpenSearchBusy"), (503, "OpenSearchUnavailable")])
async def test_an_overloaded_one_is_asked_again(world: World, status: int, reason: str) -> None:
    await world.make("a")
    async with listening(FakeOpenSearch()) as fake:
        fake.fault = refuse(status, path="/_bulk")
        async with world.sending(fake.address) as sending:
            await sending.reaches(reason)
            fake.fault = lambda request: None
            await has(fake, "a")
            await sending.reaches("Sent")


async def test_documents_of_one_bulk_fail_on_their_own(world: World) -> None:
    await world.make("busy", "good", "odd")
    uids = {each["metadata"]["uid"]: each["metadata"]["name"] for each in (await world.pods.list()).items}
    faults = {"busy": (429, "rejected_execution_exception"), "odd": (400, "mapper_parsing_exception")}
    async with listening(FakeOpenSearch()) as fake:
        fake.item_fault = lambda verb, uid: faults.get(uids[uid])
        async with world.sending(fake.address) as sending:
            await has(fake, "good")
            await sending.reaches("OpenSearchBusy")
            del faults["busy"]
            await has(fake, "busy", "good")
            refused = await sending.reaches("DocumentsRefused")
            assert "1 are refused until they change" in refused.message
            assert "400 mapper_parsing_exception because" in refused.message
            del faults["odd"]
            await world.pods.patch("odd", {"metadata": {"labels": {"now": "right"}}}, "default")
            await has(fake, "busy", "good", "odd")
            await sending.reaches("Sent")


async def test_an_index_that_somebody_deleted_is_made_again(world: World) -> None:
    await world.make("a")
    async with listening(FakeOpenSearch()) as fake, world.sending(fake.address):
        await has(fake, "a")
        fake.indices.clear()
        await world.make("b")
        await has(fake, "b")
        assert fake.requests["PUT /kubernetes-pod"] == 2


async def test_a_bulk_that_is_too_large_is_sent_by_halves(world: World) -> None:
    await world.make(*(f"p{number}" for number in range(8)))
    async with listening(FakeOpenSearch()) as fake:
        fake.largest = 1500
        async with world.sending(fake.address) as sending:
            await has(fake, *(f"p{number}" for number in range(8)))
            await sending.reaches("Sent")


async def test_credentials_come_from_the_secret_and_are_read_again(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await world.make("a")

    def guarded(request: HttpRequest) -> HttpResponse | None:
        right = request.headers.get("authorization") == "Basic YWRtaW46Y29ycmVjdC1ob3JzZQ=="
        return None if right else HttpResponse(401, b"Unauthorized")

    async with listening(FakeOpenSearch()) as fake:
        fake.fault = guarded
        async with world.sending(fake.address, "credentials") as sending:
            missing = await sending.reaches("SecretNotFound")
            assert "secret default/credentials of spec.backendStore.openSearch.secretRef" in missing.message
            secrets = world.client.resource(objects.SECRETS)
            wrong = {"username": b"admin", "password": b"wrong-battery"}
            await secrets.create(objects.secret("credentials", "default", wrong))
            refused = await sending.reaches("WrongCredentials")
            assert "OpenSearch answers 401 to those of secret default/credentials" in refused.message
            right = objects.secret("credentials", "default", {"username": b"admin", "password": b"correct-horse"})
            await secrets.patch("credentials", {"data": right["data"]}, "default")
            await has(fake, "a")
            await sending.reaches("Sent")
    for word in ("wrong-battery", "correct-horse", "YWRtaW46"):
        assert word not in caplog.text + missing.message + refused.message


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("ftp://opensearch", r"addresses\[0\]: the server must be http\(s\)"),
        ("https://admin:hunter2@opensearch", r"addresses\[0\] holds credentials: put them into the Secret"),
    ],
)
async def test_an_address_that_cannot_be_used_is_named(world: World, address: str, complaint: str) -> None:
    async with world.sending(address) as sending:
        state = await sending.reaches("InvalidAddress")
    with pytest.raises(AssertionError, match=complaint):
        raise AssertionError(state.message)
    assert "hunter2" not in state.message


async def test_a_full_queue_is_said_and_what_it_missed_is_found_later(world: World) -> None:
    names = [f"p{number}-{'x' * 50}" for number in range(300)]
    fake = FakeOpenSearch()
    async with listening(fake):
        address, port = fake.address, int(fake.address.rpartition(":")[2])
    await world.make(*names)
    async with world.sending(address, limit=16 * 4096) as sending:
        full = await sending.reaches("QueueFull")
        assert "changes cannot be recorded and are looked for later" in full.message
        for name in names[20:]:
            await world.pods.delete(name, "default")
        async with listening(fake, port):
            await has(fake, *names[:20])
            await sending.reaches("Sent")
