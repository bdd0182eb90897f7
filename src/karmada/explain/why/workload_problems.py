"""What is wrong with a workload in a member, from its conditions, its pods and their events. No I/O."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from karmada.explain.why.facts import MemberFacts

JSONObject = dict[str, Any]
_STARTING = ("ContainerCreating", "PodInitializing")
_QUOTED = re.compile(r'"[^"]*"')
_COMBINED = "(combined from similar events): "
SHOWN = 5
"""Warnings that are shown."""


@dataclass(slots=True)
class WorkloadProblem:
    """The commonest complaint."""

    reason: str
    """One phrase."""
    pod: str = ""
    """A pod that has it."""
    container: str = ""
    """The container of it, where the pod has several."""
    details: list[str] = field(default_factory=list)
    """What events said in the member."""


def workload_problem(member: MemberFacts) -> WorkloadProblem:
    """What is wrong: with pods; else why there are none; else what events say."""
    found = [one for pod in member.pods for one in _complaints(pod)]
    warnings = [str(event.get("message", "")) for event in member.events if event.get("type") == "Warning"]
    details = list({_alike(text): text.removeprefix(_COMBINED) for text in warnings}.values())[-SHOWN:]
    reasons = Counter(one.reason for one in found)
    if failure := _replica_failure(member.object or {}):
        worst = WorkloadProblem(failure)
    elif found:
        worst = max(found, key=lambda one: reasons[one.reason])
    else:
        worst = WorkloadProblem(details[-1] if details else "its pods are not ready yet")
    worst.details = details
    return worst


def _alike(message: str) -> str:
    """What messages about one thing have in common: names differ with every attempt."""
    return _QUOTED.sub("''", message.removeprefix(_COMBINED))


def _replica_failure(item: JSONObject) -> str:
    """Why pods cannot even be created: a quota, admission, a missing service account."""
    for one in (item.get("status") or {}).get("conditions") or ():
        if (one.get("type"), one.get("status")) == ("ReplicaFailure", "True"):
            return f"ReplicaFailure: {one.get('message') or one.get('reason', '')}"
    return ""


def _complaints(pod: JSONObject) -> list[WorkloadProblem]:
    status, name = pod.get("status") or {}, pod["metadata"]["name"]
    containers = status.get("containerStatuses") or ()
    found: list[WorkloadProblem] = []
    for container in (*(status.get("initContainerStatuses") or ()), *containers):
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") and waiting["reason"] not in _STARTING:
            text = f"{waiting['reason']} in container {container.get('name', '')} ({container.get('image', '')})"
            several = len(containers) > 1 or container not in containers
            found.append(WorkloadProblem(text, name, container.get("name", "") if several else ""))
    found += [
        WorkloadProblem(f"{one.get('reason', 'Unschedulable')}: {one.get('message', '')}", name)
        for one in status.get("conditions") or ()
        if (one.get("type"), one.get("status")) == ("PodScheduled", "False")
    ]
    return found


def remedy_for(found: WorkloadProblem, cluster: str, namespace: str) -> str:
    """What to do about it, in one sentence."""
    reason = found.reason
    where = f"-n {namespace} -C {cluster}" if namespace else f"-C {cluster}"
    if "exceeded quota" in reason:
        return f"Raise the quota in {cluster}, ask for less, or let the policy place fewer replicas there."
    if "must specify" in reason:
        return f"Give the containers the requests or limits that the quota in {cluster} counts: its message names them."
    if reason.startswith("ReplicaFailure"):
        return f"Let {cluster} create the pods: correct what its message names."
    if "ImagePull" in reason or "ErrImage" in reason:
        return f"Correct the image, or let {cluster} pull it (an imageOverrider can name a registry it reaches)."
    if "CrashLoop" in reason and found.pod:
        container = f" -c {found.container}" if found.container else ""
        return f"See what the container says: karmadactl logs {found.pod}{container} {where} --previous."
    if "nsufficient" in reason or "Unschedulable" in reason or "nodes are available" in reason:
        return f"Make room in {cluster}, ask for less, or let the policy weigh clusters by what they have left."
    return f"Look at its pods: karmadactl get pods -s members {where}."
