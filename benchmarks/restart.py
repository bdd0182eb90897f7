"""A control plane that starts again with 10,000 bindings of three Works each, all of them as they should be.

Other numbers: `KARMADA_BENCH_BINDINGS=30000 python -m benchmarks restart`.

One Deployment travels as any other; what it left behind, in the control plane and in the members, is then repeated
under other names and identities in their databases. A first start remembers nothing of these, looks at everything, and
keeps records of it (`controllers.resumption`). What is measured after that is a start as any other: until it says that
it is ready, how long fresh changes of a user take from that moment on, and whether a member is written.
"""

import asyncio
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import psutil
import uvloop

from benchmarks.propagation import BINDINGS as WORKLOADS
from benchmarks.propagation import MEMBERS, Load, federation, revision, settled
from benchmarks.result import Result
from karmada.api import names
from karmada.apiserver.storage.base import Change, Record, Snapshot, Value
from karmada.apiserver.storage.delta import whole
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.controllers.resumption.resumption import PERIOD
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.resource import Scope
from karmada.standalone.children import Child
from karmada.standalone.federation import CONTEXT, Federation

BINDINGS = int(os.environ.get("KARMADA_BENCH_BINDINGS", "10000"))
START = 300.0
"""Seconds that a start may take on a busy machine."""
FRESH = 10
"""Changes of a user, from the moment at which the control plane is ready on."""
BATCH = 500
CALM = 5
"""Looks, a second apart, at queues that are all empty, until nothing is left to look at."""
NAMESPACE, FIRST = "bench", "d00000"
Renames = dict[bytes, bytes]
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DEPTH = re.compile(r"^workqueue_depth\{.*\} (\S+)$", re.MULTILINE)
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


def run() -> list[Result]:
    """All figures."""
    return uvloop.run(_measure())


async def _measure() -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as folder:
        async with federation(Path(folder), workloads=False) as made:
            clients = {name: made.client(name) for name in MEMBERS}
            async with Load(made.client(CONTEXT), clients, NAMESPACE) as load:
                await load.prepare()
                await load.create(1, 1)
                await settled(made.client(CONTEXT))
        layout = made.options.layout
        await repeat(layout.control_plane / "karmada.db", BINDINGS)
        for name in MEMBERS:
            await repeat(next((layout.members / name).glob("*.db")), BINDINGS)
        members = _members(made)
        await members.start(START)
        try:
            first = await _first(made.client(CONTEXT), _control(made))
            control = _control(made)
            try:
                return [*first, *await _restarted(made, control)]
            finally:
                await control.stop()
        finally:
            await members.stop()


def _members(made: Federation) -> Child:
    layout = made.options.layout
    arguments = ["karmada.simulator.main", "--data", str(layout.members), "--fleet", str(made.options.fleet)]
    return Child("members", arguments, layout.log("members"))


def _control(made: Federation) -> Child:
    layout = made.options.layout
    arguments = ["karmada.standalone.control_plane_main", "--data", str(layout.control_plane)]
    return Child("control", arguments, layout.log("control"))


async def _first(hub: Client, control: Child) -> list[Result]:
    """A start that remembers nothing, until everything was looked at and recorded."""
    try:
        began = time.perf_counter()
        await control.start(START)
        process = psutil.Process(control.pid)
        quiet, used = await _idle(hub, process)
        # Records are made in the background, of what nothing has happened to for a while.
        await asyncio.sleep(3 * PERIOD)
        await _idle(hub, process)
    finally:
        await control.stop()
    return [
        Result("a start that remembers nothing, until nothing is left to look at", quiet - began, "s"),
        Result("CPU of it", used, "s"),
    ]


async def _restarted(made: Federation, control: Child) -> list[Result]:
    clients = {name: made.client(name) for name in MEMBERS}
    hub = made.client(CONTEXT)
    before = [int(await revision(client)) for client in clients.values()]
    async with Load(hub, clients, NAMESPACE, first=BINDINGS) as load:
        began = time.perf_counter()
        serving = asyncio.create_task(_served(hub))
        await control.start(START)
        ready = time.perf_counter() - began
        served = await serving - began
        process = psutil.Process(control.pid)
        spent = sum(process.cpu_times()[:2])
        fresh, spent_on = [], []
        for _ in range(FRESH):
            created, used = time.perf_counter(), sum(process.cpu_times()[:2])
            await load.create(1, 1)
            fresh.append(time.perf_counter() - created)
            spent_on.append(sum(process.cpu_times()[:2]) - used)
        started = int(await revision(hub))
        quiet, used = await _idle(hub, process)
        own = int(await revision(hub)) - started
    after = [int(await revision(client)) for client in clients.values()]
    writes = sum(after) - sum(before) - FRESH * len(MEMBERS)
    return [
        Result(f"{BINDINGS} bindings x 3 Works: start until a page of bindings is served", served, "s", target=10.0),
        Result("start until everything is known, and changes travel at once", ready, "s"),
        Result("CPU until ready", spent, "s"),
        Result("slowest fresh change after that, until it is in three members", max(fresh), "s", target=1.0),
        Result("CPU of the control plane during the slowest", max(spent_on), "s"),
        Result("first fresh change after that", fresh[0], "s"),
        Result("writes in members by the restart", float(writes), "", target=0.0),
        Result("writes in the control plane after the last fresh change", float(own), ""),
        Result("start until nothing is left to look at", quiet - began, "s", target=30.0),
        Result("CPU until then", used, "s"),
        Result("resident memory then", process.memory_info().rss / 1e6, "MB"),
    ]


async def _served(hub: Client) -> float:
    """When the API server answers with objects."""
    while True:
        try:
            await hub.encoded(WORKLOADS).page(Scope(NAMESPACE), limit=500)
        except ApiError:
            await asyncio.sleep(0.02)
        else:
            return time.perf_counter()


async def _idle(hub: Client, process: psutil.Process) -> tuple[float, float]:
    """Wait until no queue has had anything for a while and hardly anything was done; when that began, and the CPU that
    the process had used."""
    calm, began, used = 0, 0.0, 0.0
    while calm < CALM:
        before = time.perf_counter(), sum(process.cpu_times()[:2])
        await asyncio.sleep(1.0)
        depths = _DEPTH.findall((await hub.transport.raw("GET", "/metrics")).decode())
        is_calm = not any(map(float, depths)) and sum(process.cpu_times()[:2]) - before[1] < 0.1
        calm = calm + 1 if is_calm else 0
        if calm == 1:
            began, used = before
    return began, used


class Nobody:
    """Follows a storage and does nothing about it."""

    def committed(self, changes: list[Change], revision: int) -> None:
        """See `Listener`."""

    def shrunk(self, records: Sequence[Record]) -> None:
        """See `Listener`."""

    def replaced(self, snapshot: Snapshot) -> None:
        """See `Listener`."""


async def repeat(database: Path, count: int, renamed: Callable[[int], Renames] = lambda number: {}) -> None:
    """Have `count` of everything that there is of the first Deployment; `renamed` says what else is called otherwise
    in the copy of a number."""
    storage = SqliteStorage(database)
    records = [record for record in (await storage.open(Nobody())).records if _is_model(record)]
    # What others refer to by version comes first.
    records.sort(key=lambda record: (not record.key.startswith("/apps/"), record.key))
    identities = identities_of(whole(record.value) for record in records)
    for start in range(1, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        await asyncio.gather(*(_repeat(storage, records, identities, number, renamed(number)) for number in numbers))
    await storage.close()


def _is_model(record: Record) -> bool:
    return f"/{FIRST}" in record.key and "/events/" not in record.key


def identities_of(bodies: Iterable[bytes]) -> set[bytes]:
    """What distinguishes objects from their copies: their uids and the permanent ids made for them, which are in no
    key of a policy."""
    own: set[bytes] = set()
    for body in bodies:
        for mark in (rb'uid":"([^"]+)"', rb'(?:binding|work)\.karmada\.io/permanent-id":"([^"]+)"'):
            own |= {found for found in re.findall(mark, body) if _UUID.fullmatch(found)}
    return own


async def _repeat(
    storage: SqliteStorage, records: Sequence[Record], identities: set[bytes], number: int, renamed: Renames
) -> None:
    rename = renaming(number, identities, renamed)
    versions: Renames = {}
    for record in records:
        value = split(rename(whole(record.value)))
        tail = value.tail
        for old, new in versions.items():
            tail = tail.replace(b'"resourceVersion":"%b"' % old, b'"resourceVersion":"%b"' % new)
        put = await storage.put(rename(record.key.encode()).decode(), Value(value.head, tail), 0)
        versions[str(record.revision).encode()] = str(put.revision).encode()


def renaming(number: int, identities: set[bytes], renamed: Renames) -> Callable[[bytes], bytes]:
    """How a text about the first Deployment becomes one about its copy of a number."""
    name = name_of(number)
    replaced: Renames = {
        names.work_name("Deployment", FIRST, NAMESPACE).encode(): names.work_name(
            "Deployment", name, NAMESPACE
        ).encode(),
        FIRST.encode(): name.encode(),
        **renamed,
    }
    replaced |= {identity: identity[:24] + b"%012x" % number for identity in identities}
    # In one go, the longest first: what is put in may be what something else is called.
    longest_first = sorted(replaced, key=len, reverse=True)
    pattern = re.compile(b"|".join(map(re.escape, longest_first)))
    return lambda text: pattern.sub(lambda found: replaced[found[0]], text)


def split(body: bytes) -> Value:
    """An encoded object as it is stored, without its own revision."""
    found = _VERSION.search(body)
    assert found is not None
    return Value(body[: found.start(1)], body[found.end(1) :])


def name_of(number: int) -> str:
    """The name of a Deployment."""
    return f"d{number:05d}"
