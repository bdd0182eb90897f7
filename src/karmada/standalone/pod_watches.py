"""Refuses, with a sentence, to have kubectl wait for pods that never come: a control plane holds templates, no pods.

`kubectl logs deployment/web` (and exec, attach, port-forward) lists the pods of a workload and, where there are none,
watches for one until it gives up after twenty seconds. Such a watch is recognised by its client: typed, so it
prefers protobuf, which `kubectl get --watch` never does.
"""

from karmada.apiserver.requests.model import Call
from karmada.machinery.httpserver.failure import Failure

_PROTOBUF = "application/vnd.kubernetes.protobuf"


def refuse_in_vain(call: Call) -> None:
    """Raise `Failure` for a watch of kubectl that waits for the pods of a workload."""
    type_ = call.served.type
    selector = call.params.get("labelSelector", "")
    if (type_.group, type_.plural) != ("", "pods") or not selector or call.http is None:
        return
    if not call.agent.startswith("kubectl/") or not call.http.headers.get("accept", "").startswith(_PROTOBUF):
        return
    where = f" -n {call.namespace}" if call.namespace not in ("", "default") else ""
    raise Failure(
        400,
        "BadRequest",
        f"no pods with {selector} in the control plane: pods run in member clusters. For their logs: "
        f"karmadactl logs -l {selector}{where} --all-clusters; to see where they run: "
        f"karmadactl get pods -l {selector}{where} -s members",
    )
