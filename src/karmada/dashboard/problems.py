"""What is not well, with a remedy: judged from rows, the worst first."""

from collections.abc import Iterable
from heapq import nsmallest

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
    found = [(_cluster_severity(row), _cluster, row) for row in clusters if row["ready"] is not True]
    found += [(_SEVERITY[row["status"]], _workload, row) for row in workloads if is_problem(row)]
    worst = nsmallest(MOST, found, key=lambda one: _ORDER.index(one[0]))
    return [{"severity": severity, **say(row)} for severity, say, row in worst]


def is_problem(row: JSONObject) -> bool:
    """Whether a workload is not where it should be."""
    return row["status"] in _REMEDIES


def _cluster_severity(row: JSONObject) -> str:
    return "error" if row["ready"] is False else "warning"


def _cluster(row: JSONObject) -> JSONObject:
    name = row["name"]
    text = f"cluster {name} is not ready: {row['reason']}: {row['message']}" if row["reason"] else row["message"]
    if row["ready"] is None and not row["reason"]:
        text = f"cluster {name} has never reported"
    remedy = (
        f"Look whether karmada-agent runs in {name} and reaches the control plane."
        if row["mode"] == "Pull"
        else f"Check network, credentials and health of {name}: kubectl --context {name} get --raw /readyz."
    )
    return {
        "object": ref(CLUSTER_VERSION, "Cluster", "", name),
        "sentence": text,
        "remedy": remedy,
    }


def _workload(row: JSONObject) -> JSONObject:
    reference = row["ref"]
    place = f"{reference['namespace']}/{reference['name']}" if reference["namespace"] else reference["name"]
    return {
        "object": reference,
        "sentence": f"{reference['kind']} {place}: {row['sentence']}",
        "remedy": _REMEDIES[row["status"]],
    }
