"""Large requests beside the event loop: whose turn it is, who is refused, and what is written as YAML or indented."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from threading import Event

import pytest
from tests.apiserver.requests.conftest import configmap
from tests.apiserver.requests.test_http_dispatcher import MAPS, Client, decoded

from karmada.api import yaml
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.fairness import FairQueue, Seat
from karmada.apiserver.overload.traffic import Traffic
from karmada.apiserver.requests import offload, reading, turns
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpResponse

A, B = UserInfo("a", ("system:authenticated",)), UserInfo("b", ("system:authenticated",))
MASTER = UserInfo("root", ("system:masters",))
YAML = "application/yaml"


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def job(work: Callable[[], object], user: UserInfo | None = None, size: int = offload.LARGE) -> asyncio.Task[object]:
    async def act() -> object:
        if user is not None:
            offload.on_behalf_of(user)
        return await offload.run(size, work)

    return asyncio.create_task(act())


@asynccontextmanager
async def busy(size: int = offload.LARGE) -> AsyncIterator[asyncio.Task[object]]:
    """The thread works on something while this lasts."""
    begun, end = Event(), Event()

    def work() -> None:
        begun.set()
        assert end.wait(10)

    task = job(work, UserInfo("busy"), size)
    await asyncio.to_thread(begun.wait, 10)
    try:
        yield task
    finally:
        end.set()
        await asyncio.wait([task])
    assert task.cancelled() or task.exception() is None, "the thread was waited for"


async def test_a_user_with_much_delays_another_and_the_process_itself_by_one_job() -> None:
    order: list[str] = []
    async with busy():
        tasks = [job(lambda: order.append("a"), A) for _ in range(10)]
        await settle()
        tasks += [job(lambda: order.append("b"), B), job(lambda: order.append("process"))]
        await settle()
    await asyncio.gather(*tasks)
    assert (order.index("b"), order.index("process"), len(order)) == (1, 2, 12)


async def test_too_much_that_waits_is_429_for_that_user_only() -> None:
    async with busy():
        waiting = [job(lambda: None, A) for _ in range(offload.WAITING_PER_USER)]
        await settle()
        with pytest.raises(Failure) as refused:
            await job(lambda: None, A)
        assert (refused.value.code, refused.value.headers) == (429, {"Retry-After": "1"})
        waiting.append(job(lambda: None, B))
        await settle()
        assert not any(task.done() for task in waiting)
    await asyncio.gather(*waiting)


async def test_who_has_nothing_waiting_is_not_refused_because_of_others() -> None:
    users = [UserInfo(f"u{number}") for number in range(offload.WAITING // offload.WAITING_PER_USER)]
    async with busy():
        waiting = [job(lambda: None, user) for user in users for _ in range(offload.WAITING_PER_USER)]
        await settle()
        newcomer = job(lambda: "done", A)
        await settle()
        refused = [task for task in waiting if task.done()]
        assert (len(refused), newcomer.done()) == (1, False)
        with pytest.raises(Failure):
            await refused[0]
    assert await newcomer == "done"
    await asyncio.gather(*set(waiting).difference(refused))


async def test_a_burst_of_hundreds_waits_behind_itself() -> None:
    async with busy():
        waiting = [job(lambda: 1, A) for _ in range(300)]
        await settle()
    assert await asyncio.gather(*waiting) == [1] * 300


async def test_what_has_begun_is_not_refused_and_goes_before_what_has_not() -> None:
    order: list[str] = []
    first, gate = asyncio.Event(), asyncio.Event()

    async def two_steps() -> None:
        offload.on_behalf_of(A)
        await offload.run(offload.LARGE, order.append, "first")
        first.set()
        await gate.wait()
        await offload.run(offload.LARGE, order.append, "second")

    begun = asyncio.create_task(two_steps())
    await first.wait()
    async with busy():
        waiting = [job(lambda: order.append("other"), A) for _ in range(offload.WAITING_PER_USER)]
        await settle()
        gate.set()
        await settle()
    await asyncio.gather(begun, *waiting)
    assert order[:3] == ["first", "second", "other"]


async def test_an_answer_that_has_begun_is_not_refused() -> None:
    async def act() -> object:
        offload.on_behalf_of(A)
        offload.answering()
        return await offload.run(offload.LARGE, lambda: "done")

    async with busy():
        waiting = [job(lambda: None, A) for _ in range(offload.WAITING_PER_USER)]
        await settle()
        begun = asyncio.create_task(act())
        await settle()
    assert await begun == "done"
    await asyncio.gather(*waiting)


async def test_a_turn_without_a_free_seat_is_passed_on() -> None:
    queue = FairQueue(seats=1)
    seat = Seat(queue, A.name)

    async def act() -> object:
        await seat.take()
        offload.on_behalf_of(A, seat)
        try:
            return await offload.run(offload.LARGE, lambda: "mine")
        finally:
            seat.give_back()

    async with busy():
        mine = asyncio.create_task(act())
        await settle()
        await queue.take(B.name)
        others = job(lambda: "other", B)
        await settle()
    assert await others == "other"
    assert not mine.done()
    queue.give_back()
    assert await mine == "mine"
    assert queue.free == 1


@pytest.mark.parametrize("user", [None, MASTER], ids=["process", "administrator"])
async def test_the_process_and_administrators_are_never_refused(user: UserInfo | None) -> None:
    async with busy():
        waiting = [job(lambda: 1, user) for _ in range(offload.WAITING_PER_USER + 1)]
        await settle()
    assert await asyncio.gather(*waiting) == [1] * (offload.WAITING_PER_USER + 1)


async def test_what_is_large_does_not_wait_for_what_is_huge() -> None:
    async with busy(offload.HUGE):
        assert await job(lambda: "done", A) == "done"


async def test_a_thread_is_taken_until_its_work_ends_though_nobody_waits_for_it() -> None:
    async with busy() as working:
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        next_one = job(lambda: "done", A)
        left = job(lambda: pytest.fail("nobody waits for it"), A)
        await settle()
        left.cancel()
        await settle()
        assert not next_one.done()
    assert await next_one == "done"


# Requests.


@pytest.fixture
async def tenants() -> AsyncIterator[ApiServer]:
    async with ApiServer(ApiServerOptions(controllers=False)) as server:
        path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        subjects = [{"kind": "User", "name": user.name} for user in (A, B)]
        body = {"metadata": {"name": "tenants"}, "roleRef": role, "subjects": subjects}
        assert (await Client(server)("POST", path, body)).status == 201
        yield server


def large(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", **configmap(name, k="v" * offload.LARGE)}


@pytest.mark.parametrize(
    ("method", "query", "accept"),
    [("GET", "", YAML), ("GET", "?pretty=true", ""), ("GET", f"?labelSelector={'a,' * 4000}a", "")],
    ids=["yaml", "pretty", "selector"],
)
async def test_a_tenant_who_reads_much_is_refused_and_nobody_else(
    tenants: ApiServer, method: str, query: str, accept: str
) -> None:
    mine, other = Client(tenants, A), Client(tenants, B)
    assert (await mine("POST", MAPS, large("m"))).status == 201
    path = f"{MAPS}{query}"

    def ask(client: Client) -> asyncio.Task[HttpResponse]:
        return asyncio.create_task(client(method, path, accept=accept))

    async with busy(), busy(offload.HUGE):
        waiting = [job(lambda: None, A) for _ in range(offload.WAITING_PER_USER - 1)]
        await settle()
        asked = [ask(mine) for _ in range(4)]
        await settle()
        refused = [task.result() for task in asked if task.done()]
        assert [(answer.status, answer.headers["Retry-After"]) for answer in refused] == [(429, "1")] * 3
        asked.append(ask(other))
        await settle()
    await asyncio.gather(*waiting)
    assert sorted(answer.status for answer in await asyncio.gather(*asked)) == [200] * 2 + [429] * 3


async def test_large_requests_that_wait_leave_their_seats_to_small_ones(tenants: ApiServer) -> None:
    traffic = Traffic(FairQueue(seats=2, per_user=2))
    mine, other = Client(tenants, A, traffic), Client(tenants, B, traffic)
    async with busy(), busy(offload.HUGE):
        asked = []
        for number in range(20):
            asked.append(asyncio.create_task(mine("POST", MAPS, large(f"m{number}"))))
            await settle()
        assert not any(task.done() for task in asked)
        for client in (mine, other):
            assert (await client("GET", f"{MAPS}/unknown")).status == 404
    assert [answer.status for answer in await asyncio.gather(*asked)] == [201] * 20


async def test_changes_that_wait_for_one_object_leave_their_seats(tenants: ApiServer) -> None:
    """Whoever has the turn with the object left its seat to wait for the thread, and needs one again."""
    seats = FairQueue(seats=2)
    traffic = Traffic(seats)
    mine, other = Client(tenants, A, traffic), Client(tenants, B, traffic)
    assert (await mine("POST", MAPS, large("m"))).status == 201
    async with busy(), busy(offload.HUGE):
        asked = []
        for number in range(8):
            body = {"metadata": {"labels": {"n": f"l{number}"}}}
            patching = mine("PATCH", f"{MAPS}/m", body, content_type="application/merge-patch+json")
            asked.append(asyncio.create_task(patching))
            await settle()
        async with asyncio.timeout(1):
            assert (await other("GET", f"{MAPS}/unknown")).status == 404
        asked.pop().cancel()
        await settle()
    async with asyncio.timeout(turns.SECONDS):
        assert [answer.status for answer in await asyncio.gather(*asked)] == [200] * 7
    assert (seats.free, len(tenants.context.turns)) == (2, 0)


async def test_refusals_of_a_turn_are_counted(tenants: ApiServer) -> None:
    traffic = Traffic()
    mine = Client(tenants, A, traffic)
    assert (await mine("POST", MAPS, large("m"))).status == 201
    async with busy(), busy(offload.HUGE):
        waiting = [job(lambda: None, A) for _ in range(offload.WAITING_PER_USER)]
        await settle()
        assert (await mine("GET", MAPS, accept=YAML)).status == 429
        assert traffic.metrics.rejected == 1
    await asyncio.gather(*waiting)


async def test_a_write_that_has_happened_is_answered_with_json_rather_than_refused(tenants: ApiServer) -> None:
    mine = Client(tenants, A)
    assert (await mine("POST", MAPS, configmap("m", k="v" * (offload.LARGE // 2)))).status == 201
    async with busy(), busy(offload.HUGE):
        waiting = [job(lambda: None, A) for _ in range(offload.WAITING_PER_USER)]
        await settle()
        patch = "application/merge-patch+json"
        answer = await mine("PATCH", f"{MAPS}/m", {"data": {"l": "w"}}, accept=YAML, content_type=patch)
        assert (answer.status, answer.content_type, decoded(answer)["data"]["l"]) == (200, "application/json", "w")
    await asyncio.gather(*waiting)


@pytest.fixture
def http(server: ApiServer) -> Client:
    return Client(server, ADMIN)


async def test_what_is_too_large_for_yaml_is_refused_with_the_remedy(http: Client) -> None:
    for name in ("a", "b"):
        assert (await http("POST", MAPS, configmap(name, k="v" * (reading.LARGEST // 2)))).status == 201
    refused = await http("GET", MAPS, accept=f"{YAML};q=1")
    status = decoded(refused)
    assert (refused.status, status["reason"]) == (406, "NotAcceptable")
    assert "ask for application/json, or for a list in pages (limit)" in status["message"]
    page = await http("GET", f"{MAPS}?limit=1", accept=YAML)
    assert (page.status, page.content_type) == (200, YAML)
    assert [item["metadata"]["name"] for item in yaml.load(page.body)["items"]] == ["a"]


async def test_a_write_is_answered_with_json_where_yaml_would_be_too_large(http: Client) -> None:
    created = await http("POST", MAPS, configmap("a", k="v" * reading.LARGEST), accept=YAML)
    assert (created.status, created.content_type) == (201, "application/json")
    assert len(decoded(created)["data"]["k"]) == reading.LARGEST


async def test_what_is_very_large_is_not_indented(http: Client) -> None:
    for name in ("a", "b"):
        assert (await http("POST", MAPS, configmap(name, k="v" * (reading.LARGEST // 2)))).status == 201
    one, both = await http("GET", f"{MAPS}/a?pretty=true"), await http("GET", f"{MAPS}?pretty=true")
    assert one.body.startswith(b'{\n  "')
    assert both.body.startswith(b'{"kind":"ConfigMapList"')
    assert len(decoded(both)["items"]) == 2


async def test_deep_nesting_makes_no_long_text(http: Client) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "deeps", "kind": "Deep"}
    spec = {"names": names, "group": "example.io", "scope": "Cluster", "versions": [version]}
    crds, deeps = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.io/v1/deeps"
    assert (await http("POST", crds, {"metadata": {"name": "deeps.example.io"}, "spec": spec})).status == 201
    value: object = [1] * 20_000
    for _ in range(150):
        value = {"a": value}
    body = {"apiVersion": "example.io/v1", "kind": "Deep", "metadata": {"name": "d"}, "spec": value}
    assert (await http("POST", deeps, body)).status == 201
    plain = await http("GET", f"{deeps}/d")
    assert (await http("GET", f"{deeps}/d?pretty=true")).body == plain.body
    assert (await http("GET", f"{deeps}/d", accept=YAML)).status == 406


async def test_yaml_of_ordinary_size_is_served(http: Client) -> None:
    assert (await http("POST", MAPS, large("m"))).status == 201
    plain, text = await http("GET", f"{MAPS}/m"), await http("GET", f"{MAPS}/m", accept=YAML)
    assert (text.status, text.content_type) == (200, YAML)
    assert yaml.load(text.body) == decoded(plain)
