"""The kubelet of pods that are processes: starts and ends them, and reports what becomes of them."""

import asyncio
import contextlib
from math import inf
from pathlib import Path

from karmada.machinery.codec import Identity
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.httpserver.backends import LogRequest
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.processes.pod import PodProcesses, Server
from karmada.simulator.processes.programs import Refused
from karmada.simulator.processes.proxy import ServiceProxy
from karmada.simulator.processes.runtime import ProcessRuntime
from karmada.simulator.processes.volumes import CONFIG_MAPS, SECRETS, NotYet
from karmada.simulator.workloads.containers import Course
from karmada.simulator.workloads.context import Workloads, pod_reference
from karmada.simulator.workloads.kinds import PODS
from karmada.simulator.workloads.kubelet import merged, status_of
from karmada.simulator.workloads.views import Pod

COMPONENT = "kubelet"
GRACE = 30
RENEW = 1200.0
"""Seconds after which tokens in volumes are renewed; they are good for an hour."""


class ProcessKubelet:
    """Runs the pods of one cluster that the runtime knows."""

    def __init__(self, context: Workloads, runtime: ProcessRuntime, server: Server) -> None:
        self._context = context
        self._runtime = runtime
        self._server = server
        self._pods = context.client.resource(PODS)
        self._commit = Committer(self._pods)
        self.running: dict[str, PodProcesses] = {}
        """Pods by their uid."""
        self._stale: set[str] = set()
        """Pods whose volumes changed."""
        self._proxy = ServiceProxy(context, runtime, self.running)
        self.controller = context.controller("process-kubelet", self.reconcile, (*self._proxy.needs, context.pods))
        self.controller.watch(context.pods, self._on_pod)
        for kind in (SECRETS, CONFIG_MAPS):
            context.trees(kind).add_handler(self._on_object)
        context.behaviour.on_change(self._look_again)

    async def close(self) -> None:
        """End all processes at once."""
        await asyncio.gather(*(pod.stop(0) for pod in self.running.values()), return_exceptions=True)
        await self._proxy.close()

    def of(self, namespace: str, name: str) -> PodProcesses | None:
        """The pod of a name, if it runs here."""
        for pod in self.running.values():
            about = pod.tree["metadata"]
            if (about["namespace"], about["name"]) == (namespace, name):
                return pod
        return None

    def address(self, namespace: str, name: str) -> str | None:
        """Where a pod listens, if it runs here."""
        pod = self.of(namespace, name)
        return pod.address if pod is not None else None

    def log(self, request: LogRequest) -> Path | None:
        """Where the log of a container is, if its pod runs here."""
        pod = self.of(request.namespace, request.pod)
        container = pod.containers.get(request.container) if pod is not None else None
        return container.log(request.previous) if container is not None else None

    def _on_pod(self, change: Change[Pod]) -> list[Key]:
        new, old = change.new, change.old
        if new is None:
            return [change.key] if old is not None and old.uid in self.running else []
        if not new.value.spec.node_name or not self._runtime.runs(new.value):
            return []
        if old is not None and old.uid == new.uid and old.value.spec.node_name:
            return [change.key] if old.value.is_deleted != new.value.is_deleted else []
        return [change.key]

    def _on_object(self, changes: list[Change[JSONObject]]) -> None:
        for change in changes:
            for uid, pod in self.running.items():
                about = pod.tree["metadata"]
                if change.new is not None and not change.initial and about["namespace"] == change.key.namespace:
                    self._stale.add(uid)
                    self.controller.enqueue(Key(about["namespace"], about["name"]))

    def _look_again(self) -> None:
        for pod in self.running.values():
            self.controller.enqueue(Key(pod.tree["metadata"]["namespace"], pod.tree["metadata"]["name"]))
        if self._context.pods.has_synced:
            for item in self._context.pods.all_items():
                if item.value.spec.node_name and self._runtime.runs(item.value):
                    self.controller.enqueue(item.key)

    async def reconcile(self, key: Key) -> Result:
        """Have the processes of one pod run or end as it says, and report."""
        item = self._context.pods.item(key)
        for uid, pod in list(self.running.items()):
            about = pod.tree["metadata"]
            if (about["namespace"], about["name"]) == (key.namespace, key.name) and (item is None or item.uid != uid):
                self._end(uid, pod, key, 0)
        if item is None or not item.value.spec.node_name or not self._runtime.runs(item.value):
            return DONE
        there = self.running.get(item.uid)
        if item.value.spec.node_name in self._context.behaviour.dead_nodes:
            if there is not None:
                self._end(item.uid, there, key, 0)
            return DONE
        if item.value.is_deleted or item.value.is_finished:
            return await self._finish(item, there, key)
        if there is not None and there.ending is not None:
            return DONE  # on a node that was down: started again when its end is known
        return await self._report(item, there or self._start(item, key), key)

    async def _finish(self, item: Item[Pod], there: PodProcesses | None, key: Key) -> Result:
        """End the processes, then let a deleted pod go."""
        if there is not None:
            grace = self._pods.codec.decode(item.body)["metadata"].get("deletionGracePeriodSeconds")
            self._end(item.uid, there, key, GRACE if grace is None else int(grace))
            return DONE
        if item.value.is_deleted:
            self._runtime.forget(item.uid)
            with contextlib.suppress(NotFound):
                await self._pods.delete(key.name, key.namespace, only_if=Identity(uid=item.uid), grace_seconds=0)
        return DONE

    def _end(self, uid: str, pod: PodProcesses, key: Key, grace: float) -> None:
        """End a pod's processes in the background; its key is looked at again afterwards."""
        if pod.ending is not None:
            return

        async def end() -> None:
            try:
                await pod.stop(grace)
            finally:
                self.running.pop(uid, None)
                self.controller.enqueue(key)
                if self._context.pods.item(key) is None:
                    self._runtime.forget(uid)

        pod.ending = asyncio.create_task(end(), name=f"end {key}")

    def _start(self, item: Item[Pod], key: Key) -> PodProcesses:
        reference = pod_reference(item.value)

        def changed(type_: str, reason: str, text: str) -> None:
            if reason:
                self._context.event(COMPONENT, reference, type_, reason, text)
            self.controller.enqueue(key)

        tree = self._pods.codec.decode(item.body)
        made = PodProcesses(self._runtime, self._context.client, tree, self._server, self._context.clock, changed)
        self.running[item.uid] = made
        self._proxy.write_hosts(made)
        made.start(item.value.status.container_statuses)
        return made

    async def _report(self, item: Item[Pod], there: PodProcesses, key: Key) -> Result:
        pod, now = item.value, self._context.clock.now()
        if item.uid in self._stale or there.refreshed + RENEW < now:
            self._stale.discard(item.uid)
            there.refreshed = now
            try:
                await there.refresh()
            except (NotYet, Refused, ApiError) as error:
                self._context.event(COMPONENT, pod_reference(pod), "Warning", "FailedMount", str(error))
        node = self._context.nodes.get(pod.spec.node_name or "")
        if node is None:
            self._end(item.uid, there, key, 0)
            return DONE
        lives = {name: container.life for name, container in there.containers.items()}
        courses = {name: Course(0.0 if c.ready else inf) for name, c in there.containers.items()}
        status = status_of(pod, pod.spec.containers, node, lives, courses, now, there.address)
        await self._commit.commit(
            self._pods.codec.decode(item.body), lambda seen: seen | {"status": merged(seen.get("status") or {}, status)}
        )
        return RequeueAfter(RENEW)
