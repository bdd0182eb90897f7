"""Order of the built-in groups in discovery: (group priority, version priority) of their APIServices."""

_DEFAULT = (1000, 100)
_GROUPS = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "resource.k8s.io": 15900,
    "apiregistration.k8s.io": 18000,
}
_VERSIONS = {("", "v1"): 1, ("autoscaling", "v2"): 30, ("flowcontrol.apiserver.k8s.io", "v1"): 21}


def priorities(group: str, version: str) -> tuple[int, int]:
    """Group and version priority of a locally served group version."""
    if group not in _GROUPS:
        return _DEFAULT
    return _GROUPS[group], _VERSIONS.get((group, version), 15)
