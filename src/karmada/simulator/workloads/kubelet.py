"""The kubelet stand-in: everything that happens to a pod on its node, for all nodes of the cluster.

A pod's containers follow their course (`containers`); each visit writes what is due and says when to come again. A pod
whose deletion was asked for goes at once, one that was active for longer than it may fails. Nodes that are down do
nothing.
"""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network
from math import inf

from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.codec import Identity
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result, own_key
from karmada.machinery.errors import NotFound
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.conditions import with_condition
from karmada.simulator.workloads.containers import Course, Life, course_of, recalled
from karmada.simulator.workloads.context import Workloads, pod_reference
from karmada.simulator.workloads.kinds import PODS
from karmada.simulator.workloads.kubelet_admission import MESSAGE, REASON, hesitation, ports_taken, rejection
from karmada.simulator.workloads.views import Container, Node, Pod

COMPONENT = "kubelet"
NODE = "node"
OVERDUE = {
    "reason": "DeadlineExceeded",
    "message": "Pod was active on the node longer than the specified deadline",
}


class Kubelet:
    """Stands in for the kubelets of all nodes of a cluster."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._pods = context.client.resource(PODS)
        self._commit = Committer(self._pods)
        self._lives: dict[str, dict[str, Life]] = {}
        """The containers of each pod by its uid."""
        self._addresses: dict[str, str] = {}
        """Pods by address."""
        self._last_address = 0
        context.pods.add_index(NODE, _node)
        self.controller = context.controller(COMPONENT, self.reconcile, (context.pods, context.nodes))
        context.pods.add_handler(self._forget)
        self.controller.watch(context.pods, _assigned)
        self.controller.watch(context.nodes, self._on_node)
        context.behaviour.on_change(self._look_again)

    def _forget(self, changes: list[Change[Pod]]) -> None:
        for change in changes:
            if change.new is None and change.old is not None:
                self._lives.pop(change.old.uid, None)
                address = change.old.value.status.pod_ip
                if address and self._addresses.get(address) == change.old.uid:
                    del self._addresses[address]
            elif change.initial and (address := change.item.value.status.pod_ip):
                self._addresses[address] = change.item.uid

    def _on_node(self, change: Change[Node]) -> list[Key]:
        """The pods of a node that came or went."""
        if (change.old is not None and change.new is not None) or not self._context.pods.has_synced:
            return []
        return [item.key for item in self._context.pods.indexed_items(NODE, change.key.name)]

    def _look_again(self) -> None:
        if self._context.pods.has_synced:
            for item in self._context.pods.all_items():
                self.controller.enqueue(item.key)

    async def reconcile(self, key: Key) -> Result:
        """Let happen to one pod what is due."""
        item = self._context.pods.item(key)
        if item is None or not item.value.spec.node_name or self._context.elsewhere(item.value):
            return DONE
        pod = item.value
        node = self._context.nodes.get(pod.spec.node_name or "")
        if node is None:
            # A pod without a node is nobody's.
            await self._delete(pod)
            return DONE
        if node.metadata.name in self._context.behaviour.dead_nodes:
            return DONE
        if pod.is_deleted:
            self._report_killing(pod, pod.spec.containers)
            await self._delete(pod)
            return DONE
        if pod.is_finished:
            return DONE
        return await self._live(item, pod, node)

    async def _live(self, item: Item[Pod], pod: Pod, node: Node) -> Result:
        now = self._context.clock.now()
        lives = self._lives.get(item.uid)
        fresh = lives is None and not pod.status.container_statuses
        containers = pod.spec.containers
        if fresh and ports_taken(pod, self._admitted(node)):
            return await self._reject(item, pod, now)
        if lives is None:
            known = {status.name: status for status in pod.status.container_statuses or ()}
            lives = {c.name: recalled(known[c.name]) if c.name in known else Life(since=now) for c in containers}
            self._lives[item.uid] = lives
        courses = {c.name: course_of(pod, c, self._context.behaviour) for c in containers}
        before = {name: (life.state, life.reason, life.restarts) for name, life in lives.items()}
        for name, life in lives.items():
            life.advance(courses[name], pod.spec.restart_policy, now)
        deadline = _deadline(pod, now)
        if now >= deadline:
            for life in lives.values():
                life.kill(now)
        address = pod.status.pod_ip or self._address(item.uid)
        status = status_of(pod, containers, node, lives, courses, now, address)
        await self._commit.commit(
            self._pods.codec.decode(item.body), lambda seen: seen | {"status": merged(seen.get("status") or {}, status)}
        )
        if now >= deadline:
            self._report_killing(pod, containers)
            self._event(pod, "Normal", OVERDUE["reason"], OVERDUE["message"])
            return DONE
        self._record(pod, containers, lives, courses, {} if fresh else before)
        if status["phase"] in ("Succeeded", "Failed"):
            return DONE
        policy = pod.spec.restart_policy
        wait = min((life.wakes(courses[name], policy, now) for name, life in lives.items()), default=inf)
        wait = min(wait, deadline - now)
        return DONE if wait == inf else RequeueAfter(max(wait, 0.001))

    def _admitted(self, node: Node) -> Iterator[Pod]:
        """The pods that a node's kubelet runs; nothing is looked at before the first of them is asked for."""
        for item in self._context.pods.indexed_items(NODE, node.metadata.name):
            if item.uid in self._lives and not item.value.is_finished:
                yield item.value

    async def _reject(self, item: Item[Pod], pod: Pod, now: float) -> Result:
        wait = hesitation(pod, now)
        if wait > 0:
            return RequeueAfter(wait)
        await self._commit.commit(
            self._pods.codec.decode(item.body),
            lambda seen: seen | {"status": (seen.get("status") or {}) | rejection(now)},
        )
        self._event(pod, "Warning", REASON, MESSAGE)
        return DONE

    def _report_killing(self, pod: Pod, containers: list[Container]) -> None:
        for container in containers if pod.status.phase == "Running" else ():
            self._event(pod, "Normal", "Killing", f"Stopping container {container.name}")

    def _record(
        self,
        pod: Pod,
        containers: list[Container],
        lives: dict[str, Life],
        courses: dict[str, Course],
        before: dict[str, tuple[str, str, int]],
    ) -> None:
        for container in containers:
            life = lives[container.name]
            if before.get(container.name) == (life.state, life.reason, life.restarts):
                continue
            if life.reason == "ImagePullBackOff":
                text = f'Failed to pull image "{container.image}": not found'
                self._event(pod, "Warning", "Failed", text)
                self._event(pod, "Normal", "BackOff", f'Back-off pulling image "{container.image}"')
                continue
            text = f'Container image "{container.image}" already present on machine'
            self._event(pod, "Normal", "Pulled", text)
            self._event(pod, "Normal", "Created", f"Created container: {container.name}")
            self._event(pod, "Normal", "Started", f"Started container {container.name}")
            if life.reason == "CrashLoopBackOff":
                meta = pod.metadata
                which = f"{meta.name}_{meta.namespace}({meta.uid})"
                text = f"Back-off restarting failed container {container.name} in pod {which}"
                self._event(pod, "Warning", "BackOff", text)
            elif courses[container.name].ready_after == inf and life.state == "running":
                self._event(pod, "Warning", "Unhealthy", "Readiness probe failed: the container is not ready")

    def _event(self, pod: Pod, type_: str, reason: str, text: str) -> None:
        self._context.event(COMPONENT, pod_reference(pod), type_, reason, text)

    async def _delete(self, pod: Pod) -> None:
        meta = pod.metadata
        try:
            await self._pods.delete(meta.name, meta.namespace, only_if=Identity(uid=meta.uid), grace_seconds=0)
        except NotFound:
            return

    def _address(self, uid: str) -> str:
        if self._context.behaviour.pod_address:
            return self._context.behaviour.pod_address
        while True:
            self._last_address = self._last_address % 0xFFFFFE + 1
            within = self._context.behaviour.pod_range
            address = _numbered(self._last_address, within)
            # Where a range is used up, pods share addresses rather than wait for ever.
            used_up = within is not None and len(self._addresses) >= within.num_addresses - 2
            if address not in self._addresses or used_up:
                self._addresses[address] = uid
                return address


def _numbered(number: int, within: IPv4Network | IPv6Network | None) -> str:
    """An address for a pod; a range that is used up begins anew, without its first and last."""
    if within is not None:
        return str(within[1 + (number - 1) % (within.num_addresses - 2)])
    return f"10.{244 - (number >> 16) % 100}.{number >> 8 & 255}.{number & 255}"


def status_of(
    pod: Pod,
    containers: list[Container],
    node: Node,
    lives: dict[str, Life],
    courses: dict[str, Course],
    now: float,
    address: str,
) -> JSONObject:
    """The status that the kubelet reports."""
    host = next((a.address for a in node.status.addresses or () if a.type == "InternalIP"), "10.0.0.1")
    ready = {name: life.is_ready(courses[name], now) for name, life in lives.items()}
    overdue = now >= _deadline(pod, now)
    phase = "Failed" if overdue else phase_of(list(lives.values()), pod.spec.restart_policy)
    status: JSONObject = (OVERDUE if overdue else {}) | {
        "phase": phase,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "startTime": pod.status.start_time or rfc3339(now),
        "containerStatuses": [
            lives[c.name].tree(c, ready[c.name], _image_id(c.image), f"simulated://{pod.metadata.uid}/{c.name}")
            for c in containers
        ],
    }
    if phase != "Pending":
        ip = host if pod.spec.host_network else address
        status |= {"podIP": ip, "podIPs": [{"ip": ip}]}
    if init_containers := pod.spec.init_containers:
        started = parse_rfc3339(status["startTime"])
        done = Life("terminated", "Completed", started, started=started)
        status["initContainerStatuses"] = [
            done.tree(c, True, _image_id(c.image), f"simulated://{pod.metadata.uid}/{c.name}") for c in init_containers
        ]
    status["conditions"] = _conditions(pod, phase, all(ready.values()), ready, rfc3339(now))
    return status


def phase_of(lives: list[Life], policy: str) -> str:
    """The phase of a pod with these containers."""
    ended = [life for life in lives if life.state == "terminated"]
    if lives and len(ended) == len(lives) and policy != "Always":
        return "Failed" if any(life.code for life in ended) else "Succeeded"
    if all(life.state == "waiting" and life.reason != "CrashLoopBackOff" for life in lives):
        return "Pending"
    return "Running"


def _deadline(pod: Pod, now: float) -> float:
    """Until when a pod may be active."""
    seconds = pod.spec.active_deadline_seconds
    return inf if seconds is None else parse_rfc3339(pod.status.start_time or rfc3339(now)) + seconds


def _conditions(pod: Pod, phase: str, ready: bool, each: dict[str, bool], stamp: str) -> list[JSONObject]:
    conditions: list[JSONObject] = []
    present = {condition.type: condition for condition in pod.status.conditions or ()}
    serves = ready and phase == "Running"
    reason = text = ""
    if phase in ("Succeeded", "Failed"):
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
    elif not serves:
        reason = "ContainersNotReady"
        text = f"containers with unready status: [{' '.join(name for name, ok in each.items() if not ok)}]"
    wanted = (
        ("PodReadyToStartContainers", True, "", ""),
        ("Initialized", True, "PodCompleted" if phase == "Succeeded" else "", ""),
        ("Ready", serves, reason, text),
        ("ContainersReady", serves, reason, text),
    )
    for type_, holds, why, message in wanted:
        known = present.get(type_)
        status = "True" if holds else "False"
        before = (
            [{"type": type_, "status": known.status, "lastTransitionTime": known.last_transition_time}] if known else []
        )
        conditions += with_condition(before, type_, status, why, message, stamp)
    return conditions


def merged(seen: JSONObject, status: JSONObject) -> JSONObject:
    """The kubelet's report beside the conditions that others wrote."""
    ours = {condition["type"] for condition in status["conditions"]}
    others = [condition for condition in seen.get("conditions") or () if condition["type"] not in ours]
    kept = {name: value for name, value in seen.items() if name != "nominatedNodeName"}
    return kept | status | {"conditions": [*status["conditions"], *others]}


@lru_cache(maxsize=1024)
def _image_id(image: str) -> str:
    return f"sha256:{sha256(image.encode()).hexdigest()}"


def _node(item: Item[Pod]) -> list[str]:
    return [item.value.spec.node_name] if item.value.spec.node_name else []


def _assigned(change: Change[Pod]) -> list[Key]:
    """Changes that can matter: a pod came to its node, its deletion was asked for, or it may be active for less."""
    new, old = change.new, change.old
    if new is None or not new.value.spec.node_name:
        return []
    if old is None or not old.value.spec.node_name or _orders(new.value) != _orders(old.value):
        return list(own_key(change))
    return []


def _orders(pod: Pod) -> tuple[bool, int | None]:
    """What people change about a pod that runs."""
    return pod.is_deleted, pod.spec.active_deadline_seconds
