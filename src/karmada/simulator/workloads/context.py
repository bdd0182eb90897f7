"""What every workload controller gets: a client, shared informers, time, randomness and a way to record events."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from random import Random
from typing import Any, TypeVar

from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock, rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import Controller, Result
from karmada.machinery.events import EventRecorder, ObjectReference
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.simulator.behaviour import Behaviour
from karmada.simulator.usage import Usage
from karmada.simulator.workloads.kinds import NODES, PODS
from karmada.simulator.workloads.views import NODE, POD, Node, Pod

K = TypeVar("K", bound=Hashable)
OWNER = "owner"
"""Index of pods by the uid of their controller."""
RETRIES = BackoffPolicy(initial=0.05, maximum=15.0, jitter=0.1)
"""Short, as nobody waits for a simulation to recover."""
STORM = 300.0
"""Normal events per minute beyond which they are left out."""


class Workloads:
    """The surroundings of the workload controllers of one cluster."""

    def __init__(
        self,
        client: Client,
        supervisor: Supervisor,
        behaviour: Behaviour,
        usage: Usage | None = None,
        *,
        clock: Clock = REAL,
        random: Random | None = None,
        workers: int = 1,
        elsewhere: Callable[[Pod], bool] = lambda pod: False,
    ) -> None:
        """`elsewhere`: which pods somebody else runs."""
        self.client = client
        self.supervisor = supervisor
        self.behaviour = behaviour
        self.usage = usage or Usage()
        self.clock = clock
        self.random = random or Random()
        self.elsewhere = elsewhere
        self.workers = workers
        """Of each controller. In-process calls do not wait for anything, so one is enough for them."""
        self.informers = InformerFactory(client, supervisor, clock=clock, random=self.random)
        self.pods: Informer[Pod] = Informer(client.transport, PODS, POD, clock=clock, random=self.random)
        self.pods.add_index(OWNER, _owner)
        self.nodes: Informer[Node] = Informer(client.transport, NODES, NODE, clock=clock, random=self.random)
        self._recorders: dict[str, EventRecorder] = {}
        self._events_left, self._events_at = STORM, clock.monotonic()
        supervisor.start("informer pods", self.pods.run)
        supervisor.start("informer nodes", self.nodes.run)

    def trees(self, type_: GroupVersionResource) -> Informer[JSONObject]:
        """The shared informer of a collection."""
        return self.informers.resource(type_)

    def controller(
        self, name: str, reconcile: Callable[[K], Awaitable[Result]], needs: Sequence[Informer[Any]], **more: Any
    ) -> Controller[K]:
        """A controller that runs until the supervisor stops."""
        controller = Controller(
            name,
            reconcile,
            workers=self.workers,
            needs=needs,
            clock=self.clock,
            retries=RETRIES,
            random=Random(self.random.getrandbits(64)),
            **more,
        )
        self.supervisor.start(name, controller.run)
        return controller

    def event(self, component: str, about: Any, type_: str, reason: str, message: str) -> None:
        """Record an event about a tree or a reference; in a storm, only warnings."""
        if type_ == "Normal" and not self._calm():
            return
        recorder = self._recorders.get(component)
        if recorder is None:
            recorder = self._recorders[component] = EventRecorder(self.client, component, clock=self.clock)
            self.supervisor.start(f"events of {component}", recorder.run)
        reference = about if isinstance(about, ObjectReference) else ObjectReference.to(about)
        recorder.event(reference, type_, reason, message)

    def _calm(self) -> bool:
        """Whether there is time for events that say that all is well: people read those of a few objects."""
        now = self.clock.monotonic()
        self._events_left = min(STORM, self._events_left + (now - self._events_at) * STORM / 60)
        self._events_at = now
        if self._events_left < 1:
            return False
        self._events_left -= 1
        return True

    def now(self) -> str:
        """The time as objects record it."""
        return rfc3339(self.clock.now())


def foreign_changes(commit: Committer[JSONObject]) -> Callable[[Change[JSONObject]], Sequence[Key]]:
    """The changed object itself, unless the change is what its own controller has just written."""

    def keys(change: Change[JSONObject]) -> Sequence[Key]:
        new = change.new
        return () if new is not None and commit.wrote(new.uid, new.resource_version) else (change.key,)

    return keys


def _owner(item: Item[Pod]) -> list[str]:
    controller = item.value.metadata.controller
    return [controller.uid] if controller is not None else []


def pod_reference(pod: Pod) -> ObjectReference:
    """The reference to a pod, for events."""
    meta = pod.metadata
    return ObjectReference("v1", "Pod", meta.name, meta.namespace, meta.uid, meta.resource_version)
