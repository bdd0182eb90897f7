"""Logs: what a container's command says, and generated lines for programs nobody has.

A log is a function of the container and the time: every `EVERY` seconds since its start it has one more line. So any
part of it can be computed at any time, and following it costs one timer.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from math import inf
from pathlib import Path

from karmada.apiserver.watchcache import WatchCache
from karmada.machinery.clock import Clock, parse_rfc3339, rfc3339_micro
from karmada.machinery.httpserver.backends import LogRequest
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.simulator import shell
from karmada.simulator.network.commands import Web
from karmada.simulator.network.plane import Network
from karmada.simulator.processes.logs import read
from karmada.simulator.runtime.pods import container_of, find, status_of
from karmada.simulator.runtime.web import ContainerWeb
from karmada.simulator.workloads.containers import surroundings
from karmada.simulator.workloads.views import Container, Pod

EVERY = 5.0
MOST = 10_000
"""Generated lines at most, the latest ones."""


class Logs:
    """Reads logs of containers."""

    def __init__(self, store: WatchCache, clock: Clock, cluster: str = "", network: Network | None = None) -> None:
        self._store = store
        self._clock = clock
        self._cluster = cluster
        self._network = network
        self.of_process: Callable[[LogRequest], Path | None] = lambda request: None
        """Where the log of a container is that is a process."""

    def logs(self, request: LogRequest) -> AsyncIterator[bytes]:
        """The log in pieces; without end when following a container that runs."""
        pod = find(self._store, request.namespace, request.pod)
        if (path := self.of_process(request)) is not None:
            return read(path, request, self._clock)
        return self._pieces(request, pod, *self._span(pod, request))

    async def _pieces(self, request: LogRequest, pod: Pod, began: float, ended: float) -> AsyncIterator[bytes]:
        container = container_of(pod, request.container)
        now = self._clock.now()
        since = self._since(request, now)
        lines = [line for line in self._lines(pod, container, began, min(ended, now)) if line[0] >= since]
        if request.tail is not None:
            lines = lines[len(lines) - min(len(lines), request.tail) :]
        left = inf if request.limit_bytes is None else float(request.limit_bytes)
        for at, text in lines:
            data = _encoded(at, text, request.timestamps)
            yield data[: int(min(left, len(data)))]
            left -= len(data)
            if left <= 0:
                return
        while request.follow and ended == inf and self._clock.now() < ended:
            reached = self._clock.now()
            await self._clock.sleep(EVERY - (reached - began) % EVERY + 0.001)
            try:
                pod = find(self._store, request.namespace, request.pod)
                _, ended = self._span(pod, request)
            except Failure:
                return
            for at, text in self._lines(pod, container, began, self._clock.now()):
                if at > reached:
                    yield _encoded(at, text, request.timestamps)

    def _lines(self, pod: Pod, container: Container, began: float, until: float) -> Iterator[tuple[float, str]]:
        web = None if self._network is None else ContainerWeb(self._network, self._cluster, pod)
        return log_lines(pod, container, began, until, web)

    def _span(self, pod: Pod, request: LogRequest) -> tuple[float, float]:
        """When the asked run of the container began and ended."""
        status = status_of(pod, request.container)
        state = status.last_state if request.previous else status.state
        if request.previous and state.terminated is None:
            name = f'"{request.container}" in pod "{request.pod}"'
            raise bad_request(f"previous terminated container {name} not found")
        if state.running is not None:
            return parse_rfc3339(state.running.started_at or ""), inf
        ended = state.terminated or status.last_state.terminated
        if ended is None:
            reason = state.waiting.reason if state.waiting is not None else "ContainerCreating"
            name = f'"{request.container}" in pod "{request.pod}"'
            raise bad_request(f"container {name} is waiting to start: {reason}")
        return parse_rfc3339(ended.started_at or ""), parse_rfc3339(ended.finished_at or "")

    def _since(self, request: LogRequest, now: float) -> float:
        if request.since_seconds:
            return now - request.since_seconds
        return parse_rfc3339(request.since_time) if request.since_time else 0.0


def log_lines(
    pod: Pod, container: Container, began: float, until: float, web: Web | None = None
) -> Iterator[tuple[float, str]]:
    """The lines of a container between its start and a moment, with their times.

    A command that asks the network gets the network's answer of the moment when the log is read.
    """
    command = [*(container.command or ()), *(container.args or ())]
    if shell.is_known(command):
        outcome = shell.run(command, replace(surroundings(pod, container), web=web))
        if not outcome.unknown:
            for text in (outcome.output + outcome.errors).splitlines():
                yield began, text
            return
    yield began, f"{container.image} started in {pod.metadata.namespace}/{pod.metadata.name}"
    last = int(max(0.0, until - began) / EVERY)
    for number in range(max(1, last - MOST + 1), last + 1):
        yield began + number * EVERY, f"request {number} handled"


def _encoded(at: float, text: str, timestamps: bool) -> bytes:
    return f"{rfc3339_micro(at)} {text}\n".encode() if timestamps else f"{text}\n".encode()
