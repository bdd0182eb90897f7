"""Deployments, sets of pods, and jobs."""

from collections import Counter
from typing import Any

from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page
from karmada.cli.describe.pods import template
from karmada.cli.describe.related import Query, Related

JSONObject = dict[str, Any]
_HASH = "pod-template-hash"


def replica_sets_of(item: JSONObject) -> dict[str, Query]:
    """The replica sets of a deployment."""
    return {"sets": Query("apps", "v1", "replicasets", item["metadata"].get("namespace", ""), labels=_query(item))}


def pods_of(item: JSONObject) -> dict[str, Query]:
    """The pods of a set."""
    return {"pods": Query("", "v1", "pods", item["metadata"].get("namespace", ""), labels=_query(item))}


def _query(item: JSONObject) -> str:
    text = metadata.selector((item.get("spec") or {}).get("selector"))
    return "" if text == "<none>" else text


def deployment(page: Page, item: JSONObject, related: Related) -> None:
    """A Deployment."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    metadata.name(page, item)
    page.field(0, "CreationTimestamp", metadata.time(item["metadata"].get("creationTimestamp")))
    metadata.marks(page, item)
    page.field(0, "Selector", metadata.selector(spec.get("selector")))
    count = {name: status.get(f"{name}Replicas", 0) for name in ("updated", "available", "unavailable")}
    page.field(
        0,
        "Replicas",
        f"{spec.get('replicas', 1)} desired | {count['updated']} updated | {status.get('replicas', 0)} total | "
        f"{count['available']} available | {count['unavailable']} unavailable",
    )
    strategy = spec.get("strategy") or {}
    page.field(0, "StrategyType", strategy.get("type", ""))
    page.field(0, "MinReadySeconds", spec.get("minReadySeconds", 0))
    if rolling := strategy.get("rollingUpdate"):
        text = f"{rolling.get('maxUnavailable', '25%')} max unavailable, {rolling.get('maxSurge', '25%')} max surge"
        page.field(0, "RollingUpdateStrategy", text)
    template(page, spec.get("template") or {})
    metadata.conditions(page, status.get("conditions"))
    owned = [one for one in related["sets"] if _is_owner(item, one)]
    if owned:
        new = [one for one in owned if _made_from(one) == _made_from(item)][:1]
        old = [one for one in owned if one not in new and (one.get("spec") or {}).get("replicas")]
        page.field(0, "OldReplicaSets", ", ".join(_created(one) for one in old) or "<none>")
        page.field(0, "NewReplicaSet", ", ".join(_created(one) for one in new) or "<none>")


def _is_owner(owner: JSONObject, item: JSONObject) -> bool:
    references = item["metadata"].get("ownerReferences") or ()
    return any(one.get("controller") and one.get("uid") == owner["metadata"].get("uid") for one in references)


def _made_from(item: JSONObject) -> JSONObject:
    """The template of a deployment or of one of its sets, without what distinguishes the sets."""
    found = (item.get("spec") or {}).get("template") or {}
    about = found.get("metadata") or {}
    labels = {key: value for key, value in (about.get("labels") or {}).items() if key != _HASH}
    return {**found, "metadata": {**about, "labels": labels}}


def _created(item: JSONObject) -> str:
    made, wanted = (item.get("status") or {}).get("replicas", 0), (item.get("spec") or {}).get("replicas", 0)
    return f"{item['metadata']['name']} ({made}/{wanted} replicas created)"


def replica_set(page: Page, item: JSONObject, related: Related) -> None:
    """A ReplicaSet or a ReplicationController."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    metadata.name(page, item)
    page.field(0, "Selector", metadata.selector(spec.get("selector")))
    metadata.marks(page, item)
    metadata.owner(page, item)
    page.field(0, "Replicas", f"{status.get('replicas', 0)} current / {spec.get('replicas', 1)} desired")
    page.field(0, "Pods Status", _phases(item, related))
    template(page, spec.get("template") or {})
    metadata.conditions(page, status.get("conditions"))


def stateful_set(page: Page, item: JSONObject, related: Related) -> None:
    """A StatefulSet."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    metadata.name(page, item)
    page.field(0, "CreationTimestamp", metadata.time(item["metadata"].get("creationTimestamp")))
    page.field(0, "Selector", metadata.selector(spec.get("selector")))
    metadata.marks(page, item)
    page.field(0, "Replicas", f"{spec.get('replicas', 1)} desired | {status.get('replicas', 0)} total")
    strategy = spec.get("updateStrategy") or {}
    page.field(0, "Update Strategy", strategy.get("type", ""))
    if strategy.get("rollingUpdate"):
        page.field(1, "Partition", strategy["rollingUpdate"].get("partition", 0))
    page.field(0, "Pods Status", _phases(item, related))
    template(page, spec.get("template") or {})
    claims = spec.get("volumeClaimTemplates") or ()
    page.line(0, *(("Volume Claims:",) if claims else ("Volume Claims:", "<none>")))
    for claim in claims:
        about, wanted = claim["metadata"], claim.get("spec") or {}
        page.field(1, "Name", about["name"])
        page.field(1, "StorageClass", wanted.get("storageClassName", ""))
        metadata.labels(page, about.get("labels"), level=1)
        metadata.labels(page, about.get("annotations"), "Annotations", level=1)
        size = ((wanted.get("resources") or {}).get("requests") or {}).get("storage", "<default>")
        page.field(1, "Capacity", size)
        page.field(1, "Access Modes", f"[{' '.join(wanted.get('accessModes') or ())}]")


def daemon_set(page: Page, item: JSONObject, related: Related) -> None:
    """A DaemonSet."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    pods = spec.get("template") or {}
    page.field(0, "Name", item["metadata"]["name"])
    page.field(0, "Selector", metadata.selector(spec.get("selector")))
    page.field(0, "Node-Selector", ",".join(metadata.pairs((pods.get("spec") or {}).get("nodeSelector"))) or "<none>")
    metadata.marks(page, item)
    for text, key in (
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ):
        page.line(0, f"{text}: {status.get(key, 0)}")
    page.field(0, "Pods Status", _phases(item, related))
    template(page, pods)


def _phases(item: JSONObject, related: Related) -> str:
    found = Counter((pod.get("status") or {}).get("phase") for pod in related["pods"] if _is_owner(item, pod))
    words = (("Running", "Running"), ("Pending", "Waiting"), ("Succeeded", "Succeeded"), ("Failed", "Failed"))
    return " / ".join(f"{found[phase]} {word}" for phase, word in words)


def job(page: Page, item: JSONObject, _: Related) -> None:
    """A Job."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    metadata.name(page, item)
    page.field(0, "Selector", metadata.selector(spec.get("selector")))
    metadata.marks(page, item)
    metadata.owner(page, item)
    page.field(0, "Parallelism", spec.get("parallelism", 1))
    page.field(0, "Completions", spec.get("completions", "<unset>"))
    page.field(0, "Completion Mode", spec.get("completionMode", "NonIndexed"))
    page.field(0, "Suspend", str(spec.get("suspend", False)).lower())
    page.field(0, "Backoff Limit", spec.get("backoffLimit", 6))
    if "ttlSecondsAfterFinished" in spec:
        page.field(0, "TTL Seconds After Finished", spec["ttlSecondsAfterFinished"])
    if status.get("startTime"):
        page.field(0, "Start Time", metadata.time(status["startTime"]))
    if status.get("completionTime"):
        page.field(0, "Completed At", metadata.time(status["completionTime"]))
        if status.get("startTime"):
            page.field(0, "Duration", _duration(status["startTime"], status["completionTime"]))
    if "activeDeadlineSeconds" in spec:
        page.field(0, "Active Deadline Seconds", f"{spec['activeDeadlineSeconds']}s")
    ready = f" ({status['ready']} Ready)" if "ready" in status else ""
    counts = [status.get(name, 0) for name in ("active", "succeeded", "failed")]
    page.field(0, "Pods Statuses", f"{counts[0]} Active{ready} / {counts[1]} Succeeded / {counts[2]} Failed")
    if spec.get("completionMode") == "Indexed":
        page.field(0, "Completed Indexes", status.get("completedIndexes") or "<none>")
    template(page, spec.get("template") or {})


def _duration(start: str, end: str) -> str:
    from karmada.api.duration import human
    from karmada.api.timestamps import parse

    return human((parse(end) - parse(start)).total_seconds())


def cron_job(page: Page, item: JSONObject, _: Related) -> None:
    """A CronJob."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    work = (spec.get("jobTemplate") or {}).get("spec") or {}
    metadata.head(page, item)
    page.field(0, "Schedule", spec.get("schedule", ""))
    page.field(0, "Concurrency Policy", spec.get("concurrencyPolicy", ""))
    page.field(0, "Suspend", "True" if spec.get("suspend") else "False")
    page.field(0, "Successful Job History Limit", spec.get("successfulJobsHistoryLimit", "<unset>"))
    page.field(0, "Failed Job History Limit", spec.get("failedJobsHistoryLimit", "<unset>"))
    deadline = spec.get("startingDeadlineSeconds")
    page.field(0, "Starting Deadline Seconds", "<unset>" if deadline is None else f"{deadline}s")
    chosen = work.get("selector")
    page.field(0, "Selector", metadata.selector(chosen) if chosen else "<unset>")
    page.field(0, "Parallelism", work.get("parallelism", "<unset>"))
    page.field(0, "Completions", work.get("completions", "<unset>"))
    if "activeDeadlineSeconds" in work:
        page.field(0, "Active Deadline Seconds", f"{work['activeDeadlineSeconds']}s")
    template(page, work.get("template") or {})
    page.field(0, "Last Schedule Time", metadata.time(status.get("lastScheduleTime")))
    page.field(0, "Active Jobs", ", ".join(one["name"] for one in status.get("active") or ()) or "<none>")
