"""What the eviction controllers share: events about evictions, and when to look at a deadline."""

from karmada.api import events
from karmada.controllers.bindings import Binding
from karmada.machinery.controller import DONE, RequeueAfter, Result
from karmada.machinery.events import EventRecorder, ObjectReference

LATER = 0.001
"""Seconds by which a deadline is passed when it is looked at again: reaching it is not enough."""


def requeue(seconds: float | None) -> Result:
    """Come back just after a deadline; None for never."""
    return DONE if seconds is None else RequeueAfter(max(0.0, seconds) + LATER)


def record_eviction(recorder: EventRecorder, binding: Binding, cluster: str, succeeded: bool) -> None:
    """Record on the binding and its template that an eviction succeeded or failed."""
    resource = binding.spec.resource
    template = ObjectReference(
        resource.api_version, resource.kind, resource.name, resource.namespace, resource.uid, resource.resource_version
    )
    type_, reason, word = (
        (events.NORMAL, events.EVICT_WORKLOAD_FROM_CLUSTER.succeeded, "succeed")
        if succeeded
        else (events.WARNING, events.EVICT_WORKLOAD_FROM_CLUSTER.failed, "failed")
    )
    for about in (ObjectReference.to(binding), template):
        recorder.event(about, type_, reason, f"Evict from cluster {cluster} {word}.")


def record_return(recorder: EventRecorder, binding: Binding, cluster: str) -> None:
    """Record that an eviction was undone, as the copy runs well again and nothing replaces it."""
    text = f"Eviction from cluster {cluster} undone: its copy is healthy again and has no replacement."
    recorder.event(ObjectReference.to(binding), events.NORMAL, events.EVICTION_UNDONE, text)
