"""Tries connections between pods of two members, by a command in a container of one of them.

Addresses come from members, which may be hostile: only addresses of the provider's own pod network are tried, and none
that also means a pod of the consumer.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import orjson

from karmada.api import labels
from karmada.api.meta import ConditionStatus
from karmada.cli import websocket
from karmada.cli.access import Access
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.pods import chosen_container
from karmada.cli.reading import in_time
from karmada.cli.session import Session
from karmada.explain.check.network import Tried
from karmada.machinery.errors import ApiError
from karmada.machinery.resource import Scope
from karmada.works.networks import Network, overlap

JSONObject = dict[str, Any]
SECONDS = 3
NOT_THERE = frozenset({126, 127})
"""Exit codes of a command that a container does not have."""
UNREACHED = {"curl": frozenset({6, 7, 28}), "nc": frozenset({1}), "wget": frozenset({1, 4})}
"""Exit codes that say that there was no connection; with others there was one, whatever came of it."""
BROUGHT = (labels.IMPORTED_ENDPOINT_SLICE_CONTROLLER, labels.DISPATCHED_ENDPOINT_SLICE_CONTROLLER)


class Prober:
    """Probes between members, with pods of one namespace."""

    def __init__(self, session: Session, flags: Values, namespace: str) -> None:
        self._session = session
        self._flags = flags
        self._namespace = namespace

    async def __call__(self, consumer: str, provider: str, networks: Mapping[str, Network | None]) -> Tried:
        """Try a connection from a pod of one member to an endpoint of the other."""
        here, there = (self._session.member(self._flags, name) for name in (consumer, provider))
        try:
            source = await self._source(here)
            target = await self._target(there, networks.get(consumer), networks.get(provider))
            return await self._try(here, source, *target)
        except (ApiError, CommandError) as error:
            return Tried(ConditionStatus.UNKNOWN, str(error))

    async def _source(self, access: Access) -> JSONObject:
        """A running pod in the network of pods."""
        pods = await in_time(access, access.resource("", "v1", "pods").list(Scope(self._namespace)))
        for pod in pods.items:
            running = (pod.get("status") or {}).get("phase") == "Running"
            if running and not pod["spec"].get("hostNetwork") and not pod["metadata"].get("deletionTimestamp"):
                return pod
        raise CommandError(f"no pod runs in namespace {self._namespace} of {access.name}")

    async def _target(self, access: Access, here: Network | None, there: Network | None) -> tuple[str, int]:
        """A ready endpoint of a member's own, whose address means nothing else in the consumer."""
        if here is None or there is None or not here.ranges or not there.ranges:
            raise CommandError("the pod CIDRs of both clusters must be known: an address may mean another pod")
        if overlap(here.ranges, there.ranges):
            raise CommandError("an address would mean a pod of either cluster")
        slices = access.resource("discovery.k8s.io", "v1", "endpointslices")
        for one in (await in_time(access, slices.list(Scope(self._namespace)))).items:
            manager = (one["metadata"].get("labels") or {}).get(labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY)
            ports = [port["port"] for port in one.get("ports") or () if port.get("protocol", "TCP") == "TCP"]
            if manager in BROUGHT or not ports or not isinstance(ports[0], int):
                continue
            for endpoint in one.get("endpoints") or ():
                address = str((endpoint.get("addresses") or [""])[0])
                is_ready = (endpoint.get("conditions") or {}).get("ready") is not False
                if is_ready and there.holds(address):
                    return address, ports[0]
        raise CommandError(f"no endpoint is ready in namespace {self._namespace} of {access.name}")

    async def _try(self, access: Access, pod: JSONObject, address: str, port: int) -> Tried:
        host = f"[{address}]" if ":" in address else address
        name = pod["metadata"]["name"]
        what = f"a connection from {access.name}/{name} to {host}:{port}"
        for words in (
            ["curl", "-s", "-o", "/dev/null", "-m", str(SECONDS), f"http://{host}:{port}/"],
            ["nc", "-z", "-w", str(SECONDS), address, str(port)],
            ["wget", "-q", "-T", str(SECONDS), "-O", "/dev/null", f"http://{host}:{port}/"],
        ):
            code = await self._exit_code(access, pod, words)
            if code in NOT_THERE:
                continue
            if code in UNREACHED[words[0]]:
                return Tried(ConditionStatus.FALSE, f"{what} fails ({words[0]} exits with {code})")
            return Tried(ConditionStatus.TRUE, f"{what} succeeds")
        return Tried(ConditionStatus.UNKNOWN, f"{access.name}/{name} has none of curl, nc and wget")

    async def _exit_code(self, access: Access, pod: JSONObject, words: Sequence[str]) -> int:
        query = [("command", word) for word in words]
        query += [("container", chosen_container(pod, "")), ("stdout", "true"), ("stderr", "true")]
        path = f"/api/v1/namespaces/{self._namespace}/pods/{pod['metadata']['name']}/exec?{urlencode(query)}"
        try:
            async with asyncio.timeout(websocket.PATIENCE + SECONDS):
                channels = await websocket.connect(access.target, path)
                try:
                    ended: JSONObject = {}
                    async for channel, data in channels.messages():
                        if channel == websocket.ERROR:
                            ended = orjson.loads(data)
                finally:
                    await channels.close()
        except TimeoutError:
            raise CommandError(f"exec in {access.name} did not end within {websocket.PATIENCE + SECONDS:g} s") from None
        except orjson.JSONDecodeError:
            raise CommandError(f"exec in {access.name} ended without a readable status") from None
        return exit_code(ended)


def exit_code(ended: JSONObject) -> int:
    """The exit code in the status of a stream; that of a missing command where the process could not start."""
    if ended.get("status") in (None, "Success"):
        return 0
    for cause in (ended.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode" and str(cause.get("message")).isdecimal():
            return int(cause["message"])
    if "executable file not found" in str(ended.get("message")):
        return 127
    raise CommandError(str(ended.get("message") or "the process could not be run"))
