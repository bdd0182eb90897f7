"""What is not well, with a remedy: judged from rows, the worst first."""

from collections.abc import Iterable

from karmada.dashboard.rows import CLUSTER_VERSION, JSONObject, ref

MOST = 50
_REMEDIES = {
    "NoPolicy": "Create a PropagationPolicy whose resourceSelectors name it.",
    "Unscheduled": "Open it: the verdict of every cluster says what keeps it away.",
    "Unhealthy": "Open it: the first broken link of its chain says what to do.",
}
_SEVERITY = {"Unhealthy": "error", "Unscheduled": "error", "NoPolicy": "info"}
_ORDER = ("error", "warning", "info")


def problems(clusters: Iterable[JSONObject], workloads: Iterable[JSONObject]) -> list[JSONObject]:
    """Clusters that are not ready, and workloads that are not where they should be."""
    found = [_cluster(row) for row in clusters if row["ready"] is not True]
    found += [_workload(row) for row in workloads if row["status"] in _REMEDIES]
    return sorted(found, key=lambda one: _ORDER.index(one["severity"]))[:MOST]


def _cluster(row: JSONObject) -> JSONObject:
    name = row["name"]
    said = f"cluster {name} is not ready: {row['reason']}: {row['message']}" if row["reason"] else row["message"]
    if row["ready"] is None and not row["reason"]:
        said = f"cluster {name} has never reported"
    remedy = (
        f"Look whether karmada-agent runs in {name} and reaches the control plane."
        if row["mode"] == "Pull"
        else f"Check network, credentials and health of {name}: kubectl --context {name} get --raw /readyz."
    )
    severity = "error" if row["ready"] is False else "warning"
    return {
        "severity": severity,
        "object": ref(CLUSTER_VERSION, "Cluster", "", name),
        "sentence": said,
        "remedy": remedy,
    }


def _workload(row: JSONObject) -> JSONObject:
    said = row["ref"]
    place = f"{said['namespace']}/{said['name']}" if said["namespace"] else said["name"]
    return {
        "severity": _SEVERITY[row["status"]],
        "object": said,
        "sentence": f"{said['kind']} {place}: {row['sentence']}",
        "remedy": _REMEDIES[row["status"]],
    }
