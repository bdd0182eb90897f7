"""Where the containers of well-known workloads are."""

from typing import Any

JSONObject = dict[str, Any]

_TEMPLATED = frozenset({"ReplicaSet", "Deployment", "DaemonSet", "StatefulSet", "Job"})


def containers(resource: JSONObject) -> list[JSONObject]:
    """The containers (not init containers) of a Pod or of a workload's pod template; none for other kinds."""
    kind = resource.get("kind")
    spec = resource.get("spec")
    if kind in _TEMPLATED and isinstance(spec, dict):
        template = spec.get("template")
        spec = template.get("spec") if isinstance(template, dict) else None
    elif kind != "Pod":
        return []
    if not isinstance(spec, dict):
        return []
    return [container for container in spec.get("containers") or [] if isinstance(container, dict)]
