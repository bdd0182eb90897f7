"""Where the containers of well-known workloads are."""

from typing import Any

from karmada.overrides.errors import OverrideError

JSONObject = dict[str, Any]

_TEMPLATED = frozenset({"ReplicaSet", "Deployment", "DaemonSet", "StatefulSet", "Job"})


def containers(resource: JSONObject) -> list[JSONObject]:
    """The containers (not init containers) of a Pod or of a workload's pod template; none for other kinds.

    Something else on the way, or among them, is an error: what is meant cannot be changed.
    """
    kind = resource.get("kind")
    if kind != "Pod" and kind not in _TEMPLATED:
        return []
    path = ("spec", "containers") if kind == "Pod" else ("spec", "template", "spec", "containers")
    node: Any = resource
    for step in path:
        if not isinstance(node, dict):
            raise OverrideError(f"failed to retrieve path({'/'.join(path)}): {step} is not in an object")
        if step not in node or (node[step] is None and step != path[-1]):
            return []
        node = node[step]
    if not isinstance(node, list) or not all(isinstance(container, dict) for container in node):
        raise OverrideError(f"path({'/'.join(path)}) does not hold a list of containers")
    return node
