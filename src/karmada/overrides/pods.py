"""Where the containers of well-known workloads are."""

from typing import Any

from karmada.overrides.effort import MOST_ALIKE, Effort
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


def called(resource: JSONObject, name: str, effort: Effort) -> list[JSONObject]:
    """The containers of a name: many would multiply what is given to each of them."""
    found = containers(resource)
    effort.spend(len(found))
    alike = [container for container in found if container.get("name") == name]
    if len(alike) > MOST_ALIKE:
        raise OverrideError(f"more than {MOST_ALIKE} containers are called {name!r}")
    return alike
