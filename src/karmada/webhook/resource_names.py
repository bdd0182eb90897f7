"""Names of resources in quotas and metrics: those Kubernetes knows, huge pages, and extended ones with a domain."""

from karmada.api.field_errors import FieldError, invalid
from karmada.api.name_rules import label_key

COUNTED = frozenset(
    {
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_MEASURED = frozenset(
    {
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
    }
)
_OF_QUOTAS = COUNTED | _MEASURED
_STANDARD = _OF_QUOTAS | {"storage"}
_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def quota_resource_errors(name: str, path: str) -> list[FieldError]:
    """What is wrong with a resource that a quota names."""
    errors = _resource_errors(name, path)
    if "/" not in name and name not in _OF_QUOTAS and not name.startswith(_HUGE_PAGES):
        errors.append(invalid(path, name, "must be a standard resource for quota"))
    return errors


def container_resource_errors(name: str, path: str) -> list[FieldError]:
    """What is wrong with a resource that containers use."""
    errors = _resource_errors(name, path)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not name.startswith("hugepages-"):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif "kubernetes.io/" not in name and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def is_extended(name: str) -> bool:
    """Whether a name is that of an extended resource, which is counted in whole numbers."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not label_key(f"requests.{name}")


def _resource_errors(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, why) for why in label_key(name)]
    if not errors and "/" not in name and name not in _STANDARD and not name.startswith(_HUGE_PAGES):
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors
