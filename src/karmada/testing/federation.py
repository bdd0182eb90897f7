"""A whole federation inside a test: the control plane and simulated members in the test's own process, no sockets.

    async with Federation(members=3) as federation:
        await federation.apply(Path("policies/nginx.yaml"), deployment)
        assert await federation.eventually(lambda: federation.placement("Deployment", "nginx")) == {"member1": 2}

Everything is the product itself, on memory and direct transports: admission, controllers, scheduler, and members whose
workloads come alive. Members are asked how they are several times a second, and a change counts at once, so that a
test of what happens when one fails takes no longer than it has to.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from karmada.api import yaml
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.names import binding_name
from karmada.apiserver.storage.base import EMPTY
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.cli import answers
from karmada.cli.failures import CommandError
from karmada.cli.files import Found, objects_of
from karmada.cli.strict import complaints, is_about_fields
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.clusters import is_ready
from karmada.explain.errors import ExplainError
from karmada.explain.members import Members
from karmada.machinery.client import Client
from karmada.machinery.discovery import ApiResource, UnknownKind
from karmada.machinery.errors import ApiError
from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource, JSONObject, Request, Transport
from karmada.simulator.fleet import Fleet
from karmada.simulator.member import Member
from karmada.simulator.spec import FleetSpec, load, network_annotations, numbered
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.collection import no_collection

T = TypeVar("T")
Source = str | Path | JSONObject
"""Manifests: a file, the text of one, or an object."""

CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
MANAGER = "karmada-testing"
PATIENCE = 30.0
PAUSE = 0.01
_USUAL = {"Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1", "Service": "v1", "ConfigMap": "v1", "Secret": "v1"}
"""The API versions of kinds that are asked for by name only; of workloads, apps/v1."""
PROBING = StatusOptions(period=0.2, success_threshold=0, failure_threshold=0)


class _Images:
    """What servers hold before anything is done with them: made by the first federation, taken over by later ones."""

    hub = EMPTY
    member = EMPTY


class FederationMember:
    """One member as a test sees it."""

    def __init__(self, member: Member) -> None:
        self._member = member

    @property
    def client(self) -> Client:
        """A client that works even while the member fails."""
        return self._member.inside

    async def get(self, kind: str, name: str, namespace: str = "default", api_version: str = "apps/v1") -> JSONObject:
        """Read an object of the member; raises NotFound."""
        return await _get(self.client, api_version, kind, name, namespace)

    def fail(self) -> None:
        """Have the member's API server refuse connections, as after a power cut of its front."""
        self._change(down=True)

    def use(self, pattern: str, cpu: int, memory: int = 32 << 20) -> None:
        """Have pods of a pattern of `namespace/pod` use thousandths of a CPU and bytes of memory, each."""
        self._member.usage.set(pattern, cpu, memory)

    def measure(self, resource: str, metric: str, pattern: str, value: str) -> None:
        """Have objects of a pattern of `namespace/name` a custom metric."""
        self._member.custom_metrics.set(resource, metric, pattern, value)

    def hang(self) -> None:
        """Have the member's API server accept requests and never answer."""
        self._change(hanging=True)

    def stop(self) -> None:
        """Have the whole member gone: its API server and its pods."""
        self._change(down=True, network_down=True)

    async def address(self, pod: str, port: int, namespace: str = "default") -> tuple[str, int]:
        """Where a pod's port is on this machine; raises `Unreachable` when nobody listens there."""
        member = self._member
        return await member.ports.address(member.network.at(member.name, namespace, pod, port))

    def transport(self) -> Transport:
        """A way in as its administrator, which suffers the member's faults."""
        return self._member.transport()

    def slow(self, milliseconds: int) -> None:
        """Have every answer take that much longer."""
        self._change(slow_milliseconds=milliseconds)

    def recover(self) -> None:
        """Have everything work again."""
        self._change(down=False, network_down=False, hanging=False, slow_milliseconds=0, rejecting=0)

    def _change(self, **changes: object) -> None:
        self._member.gate.set(msgspec.structs.replace(self._member.faults, **changes))


class Overheard:
    """A transport whose requests somebody sees."""

    def __init__(self, inner: Transport, on_request: Callable[[Request], None]) -> None:
        self._inner = inner
        self._on_request = on_request
        self.watch, self.raw, self.close = inner.watch, inner.raw, inner.close

    async def send(self, request: Request) -> bytes:
        """Hand a request on."""
        self._on_request(request)
        return await self._inner.send(request)


class Federation:
    """A control plane and simulated members in the test's own process, without sockets."""

    def __init__(
        self,
        members: int = 3,
        *,
        fleet: FleetSpec | str | Path | None = None,
        options: ControlPlaneOptions | None = None,
        on_request: Callable[[str, Request], None] | None = None,
    ) -> None:
        """`fleet` describes members in detail, in place of `members` like those of `karmada up`; `on_request` sees what
        the control plane asks them."""
        self._on_request = on_request
        spec = fleet if isinstance(fleet, FleetSpec) else load(fleet) if fleet is not None else _prompt(members)
        self._spec = spec
        self._options = options or ControlPlaneOptions(options=Options(PROBING))
        self._stack = AsyncExitStack()
        self._subject: tuple[str, str, str, str] | None = None
        """The object that a test asked about last: kind, name, namespace, apiVersion."""
        self._fleet_clients: Mapping[str, Client] = {}
        self.members: Mapping[str, FederationMember] = {}
        self.plane: ControlPlane
        """The control plane itself: `karmada.testing.actors` come to it."""
        self.hub: Client
        """A client of the control plane, as its administrator."""

    async def __aenter__(self) -> "Federation":
        with no_collection():
            await self._start()
        return self

    async def _start(self) -> None:
        fleet = await self._stack.enter_async_context(
            Fleet(self._spec, clock=self._options.clock, start=_Images.member)
        )
        _Images.member = fleet.common

        async def open_member(cluster: Cluster) -> Transport:
            name = cluster.metadata.name
            transport = fleet[name].transport()
            return Overheard(transport, partial(self._on_request, name)) if self._on_request else transport

        storage = self._options.storage
        if isinstance(storage, MemoryStorage) and not storage.snapshot().records:
            storage.start_from(_Images.hub)
        plane = await self._stack.enter_async_context(ControlPlane(self._options, open_member))
        if isinstance(storage, MemoryStorage) and _Images.hub is EMPTY:
            _Images.hub = storage.snapshot()
        self.plane, self.hub = plane, plane.client
        self.members = {name: FederationMember(member) for name, member in fleet.items()}
        self._fleet_clients = {name: Client(member.transport()) for name, member in fleet.items()}
        for member in fleet.values():
            await self.hub.resource(CLUSTERS).create(_cluster(member))
        await self.eventually(self._all_ready)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def apply(self, *sources: Source) -> None:
        """Create or change objects of the control plane, as `kubectl apply --server-side` does.

        What the control plane refuses is an AssertionError that names the file and, for unknown fields, the line.
        """
        for found in (found for source in sources for found in _found(source)):
            tree = found.item
            try:
                served = await self.hub.mapper.of_kind(tree["apiVersion"], tree["kind"])
            except UnknownKind as error:
                raise AssertionError(f"{found.place(('kind',))}: {error}") from error
            if served.namespaced and "namespace" not in tree["metadata"]:
                tree = {**tree, "metadata": {**tree["metadata"], "namespace": "default"}}
            try:
                await self.hub.resource(served.type).apply(tree, field_manager=MANAGER, force=True)
            except ApiError as error:
                raise AssertionError(await self._mistake(served, found, error)) from error

    async def _mistake(self, served: ApiResource, found: Found, error: ApiError) -> str:
        """What is wrong with an object, and where it stands."""
        lines = await complaints(self.hub.transport, served, found) if is_about_fields(error.message) else []
        return "\n".join(lines or [f"{found.place()}: {error.message}"])

    async def why(self, kind: str, name: str, namespace: str = "default", api_version: str = "apps/v1") -> str:
        """Why an object is (not) where it should be, as `karmadactl why` prints it."""
        served = await self.hub.mapper.of_kind(api_version, kind)
        place = namespace if served.namespaced else ""
        return await answers.why(self.hub, self._explained(), served, place, name)

    async def tree(self, kind: str, name: str, namespace: str = "default", api_version: str = "apps/v1") -> str:
        """Everything that belongs to an object, as `karmadactl tree` shows it."""
        served = await self.hub.mapper.of_kind(api_version, kind)
        place = namespace if served.namespaced else ""
        return await answers.tree_of(self.hub, self._explained(), served, place, name)

    def _explained(self) -> Members:
        return Members(lambda name: self._fleet_clients[name], PATIENCE)

    async def get(self, kind: str, name: str, namespace: str = "default", api_version: str = "apps/v1") -> JSONObject:
        """Read an object of the control plane; raises NotFound."""
        self._subject = (kind, name, namespace, api_version)
        return await _get(self.hub, api_version, kind, name, namespace)

    async def placement(self, kind: str, name: str, namespace: str = "default") -> dict[str, int]:
        """Where an object was scheduled, and with how many replicas; empty until it was."""
        self._subject = (kind, name, namespace, _USUAL.get(kind, "apps/v1"))
        binding = await self.hub.resource(BINDINGS).get(binding_name(kind, name), namespace)
        return {share["name"]: share.get("replicas", 0) for share in binding["spec"].get("clusters") or ()}

    async def eventually(self, check: Callable[[], Awaitable[T]], seconds: float = PATIENCE) -> T:
        """Ask until the answer is true; an assertion or an object that is not there yet counts as not yet."""
        last: Any = None
        try:
            async with asyncio.timeout(seconds):
                while True:
                    try:
                        found = await check()
                        if found:
                            return found
                        last = found
                    except (ApiError, AssertionError, KeyError) as error:
                        last = error
                    await asyncio.sleep(PAUSE)
        except TimeoutError:
            raise AssertionError(
                f"did not happen within {seconds:.0f} s; last: {last!r}{await self._reason()}"
            ) from None

    async def _reason(self) -> str:
        """Why the object that was asked about last is not where it should be, for whoever waited in vain."""
        if self._subject is None:
            return ""
        with suppress(ApiError, ExplainError, UnknownKind, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                return f"\n\n{await self.why(*self._subject)}"
        return ""

    async def _all_ready(self) -> bool:
        clusters = (await self.hub.of(Cluster).list()).items
        return all(is_ready(cluster) for cluster in clusters)


def manifests(source: Source) -> Iterator[JSONObject]:
    """The objects of a file, of its text, or the object given."""
    if isinstance(source, dict):
        yield source
        return
    text = source.read_text() if isinstance(source, Path) else source
    yield from (tree for tree in yaml.load_all(text) if tree)


def _found(source: Source) -> Iterator[Found]:
    """The objects of a source, with the places where they stand."""
    if isinstance(source, dict):
        yield Found(source, f"{source['kind']} {source['metadata'].get('name', '')}", "", 0)
        return
    try:
        yield from objects_of(source)
    except CommandError as error:
        raise AssertionError(str(error)) from None


async def _get(client: Client, api_version: str, kind: str, name: str, namespace: str) -> JSONObject:
    served = await client.mapper.of_kind(api_version, kind)
    return await client.resource(served.type).get(name, namespace if served.namespaced else "")


def _cluster(member: Member) -> JSONObject:
    spec = member.spec
    fields = {"provider": spec.provider, "region": spec.region, "zones": list(spec.zones)}
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": member.name, "labels": dict(spec.labels), "annotations": network_annotations(spec)},
        "spec": {"syncMode": "Push"} | {key: value for key, value in fields.items() if value},
    }


def _prompt(count: int) -> FleetSpec:
    """Members whose containers are ready at once: a test has no use for the wait."""
    members = tuple(msgspec.structs.replace(member, ready_seconds=0.0) for member in numbered(count).members)
    return FleetSpec(members)
