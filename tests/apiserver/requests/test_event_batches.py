"""Events written in batches by components of the server's own process: the rules of requests, without their cost."""

import orjson
from tests.apiserver.requests.conftest import Api

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.failures import forbidden
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import StorageFailed
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.machinery.client import Client
from karmada.machinery.errors import AlreadyExists, BadRequest, Forbidden, NotFound, ServerError
from karmada.machinery.event_sink import EVENTS, EventWrite, RequestSink
from karmada.machinery.resource import Scope

NOBODY = UserInfo("nobody", ("system:authenticated",))
KIND = ("", "events")


def event(name, namespace="default", **fields):
    tree = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {"kind": "ConfigMap", "namespace": namespace, "name": "c", "apiVersion": "v1"},
        "reason": "Done",
        "message": "all is done",
        "source": {"component": "tests"},
        "firstTimestamp": "2023-11-14T22:13:20Z",
        "lastTimestamp": "2023-11-14T22:13:20Z",
        "count": 1,
        "type": "Normal",
        "eventTime": None,
        "reportingComponent": "tests",
        "reportingInstance": "",
        **fields,
    }
    return EventWrite(namespace, name, tree)


def again(name, namespace="default", count=2):
    patch = {"count": count, "lastTimestamp": "2023-11-14T22:14:20Z", "message": "again"}
    return EventWrite(namespace, name, patch, happened_again=True)


def stored(server, name, namespace="default"):
    item = server.store.get(KIND, namespace, name)
    return orjson.loads(item.body) if item is not None else None


def sink(server, user=ADMIN):
    return server.direct(user, "tests").events()


def kinds(outcomes):
    return [type(outcome) for outcome in outcomes]


async def test_an_event_of_a_batch_reads_like_one_of_a_request(server):
    assert await sink(server).write([event("batch")]) == [None]
    assert await RequestSink(Client(server.direct(ADMIN, "tests"))).write([event("request")]) == [None]
    batch, request = stored(server, "batch"), stored(server, "request")
    for one in (batch, request):
        for name in ("name", "uid", "resourceVersion", "creationTimestamp", "managedFields"):
            assert one["metadata"].pop(name, None) or name == "managedFields"
    assert batch == request
    client = Client(server.direct())
    for selector in ("involvedObject.name=c", "reason=Done", "source=tests", "type!=Warning"):
        found = await client.resource(EVENTS).list(Scope("default", fields=selector))
        assert {one["metadata"]["name"] for one in found.items} == {"batch", "request"}


async def test_an_event_that_happens_again_is_counted(server):
    await sink(server).write([event("e")])
    before = stored(server, "e")
    assert kinds(await sink(server).write([again("e"), again("gone")])) == [type(None), NotFound]
    after = stored(server, "e")
    assert (after["count"], after["message"], after["lastTimestamp"]) == (2, "again", "2023-11-14T22:14:20Z")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])


async def test_who_may_not_write_events_is_refused_where_that_is(server):
    await Api(server).create("namespaces", {"metadata": {"name": "open"}})
    role = {"kind": "Role", "metadata": {"name": "events", "namespace": "open"}}
    role["rules"] = [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}]
    binding = {
        "metadata": {"name": "events", "namespace": "open"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "events"},
        "subjects": [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    from karmada.machinery.transport import GroupVersionResource as Gvr

    admin = Client(server.direct())
    await admin.resource(Gvr("rbac.authorization.k8s.io", "v1", "roles")).create(role, "open")
    await admin.resource(Gvr("rbac.authorization.k8s.io", "v1", "rolebindings")).create(binding, "open")
    outcomes = await sink(server, NOBODY).write([event("a"), event("b", "open"), again("b", "open")])
    assert kinds(outcomes) == [Forbidden, type(None), Forbidden]
    assert stored(server, "a") is None
    assert stored(server, "b", "open")["count"] == 1


async def test_rights_that_are_taken_away_count_at_once(server):
    from karmada.machinery.transport import GroupVersionResource as Gvr

    bindings = Client(server.direct()).resource(Gvr("rbac.authorization.k8s.io", "v1", "clusterrolebindings"))
    binding = {
        "metadata": {"name": "nobody"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    await bindings.create(binding)
    writing = sink(server, NOBODY)
    assert await writing.write([event("a")]) == [None]
    await bindings.delete("nobody")
    assert kinds(await writing.write([event("b")])) == [Forbidden]


async def test_events_need_a_namespace_that_is_there_and_stays(server, api):
    await api.create("namespaces", {"metadata": {"name": "ending"}})
    held = {"metadata": {"name": "c", "finalizers": ["tests.io/hold"]}}
    await api.create("configmaps", held, namespace="ending")
    await api.delete("namespaces", "ending")
    outcomes = await sink(server).write([event("a", "absent"), event("b", "ending"), event("c")])
    assert kinds(outcomes) == [NotFound, Forbidden, type(None)]


class Refusing:
    """An admission plugin that lets no event named `bad` pass."""

    kinds = (KIND,)

    def applies(self, request):
        return True

    async def mutate(self, request):
        if request.object is not None:
            request.object["message"] = "changed"

    async def validate(self, request):
        if request.name == "bad":
            raise forbidden("", "events", request.name, "it is bad")


async def test_whatever_else_admits_events_is_asked_about_each():
    async with ApiServer(ApiServerOptions(admission=[Refusing()])) as server:
        assert kinds(await sink(server).write([event("bad"), event("good")])) == [Forbidden, type(None)]
        assert stored(server, "good")["message"] == "changed"


async def test_a_name_that_is_no_name_is_refused_alone(server):
    outcomes = await sink(server).write([event("a/b"), event("good"), event("good"), event("half\ud800")])
    assert kinds(outcomes) == [BadRequest, type(None), AlreadyExists, BadRequest]
    assert stored(server, "good") is not None


class Failing(MemoryStorage):
    """Storage that refuses keys."""

    async def put(self, key, value, expected, context=None):
        if key.endswith("/lost"):
            raise StorageFailed("the disk is full")
        return await super().put(key, value, expected, context)


async def test_a_storage_that_fails_is_reported_for_what_it_lost():
    async with ApiServer(ApiServerOptions(storage=Failing())) as server:
        outcomes = await sink(server).write([event("lost"), event("kept")])
        assert kinds(outcomes) == [ServerError, type(None)]
        assert outcomes[0].transient


class Commits:
    """Passes commits on and notes how many writes each has."""

    def __init__(self, listener, sizes):
        self._listener, self._sizes = listener, sizes

    def committed(self, changes, revision):
        self._sizes.append(len(changes))
        self._listener.committed(changes, revision)

    def shrunk(self, records):
        self._listener.shrunk(records)

    def replaced(self, snapshot):
        self._listener.replaced(snapshot)


class Watched(SqliteStorage):
    """SQLite whose commits are noted."""

    def __init__(self, path):
        super().__init__(path)
        self.sizes = []

    async def open(self, listener):
        return await super().open(Commits(listener, self.sizes))


async def test_a_batch_is_one_commit_of_the_storage(tmp_path):
    storage = Watched(tmp_path / "db")
    async with ApiServer(ApiServerOptions(storage=storage, controllers=False)) as server:
        del storage.sizes[:]
        writes = [event(f"e{number}") for number in range(sink(server).at_once)]
        assert set(await sink(server).write(writes)) == {None}
        assert storage.sizes == [len(writes)]
