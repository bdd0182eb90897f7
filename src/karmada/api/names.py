"""Names that Karmada derives from other names, and the hash some of them end with.

Other tools compute these names too (Karmada's Go components, dashboards, scripts), so every rule here is a wire format:
equal inputs must give byte-equal names. Functions never validate; a derived name can be as bad as what it came from.
"""

from functools import lru_cache

SYSTEM_NAMESPACE = "karmada-system"
CLUSTER_NAMESPACE = "karmada-cluster"
EXECUTION_SPACE_PREFIX = "karmada-es-"
LONGEST_CLUSTER_NAME = 48
"""It leaves room for what names are derived from it, its execution space above all."""

IMPERSONATOR = "karmada-impersonator"
"""Service account in the control plane, and ClusterRole (and binding) in the members."""
ESTIMATOR_PREFIX = "karmada-scheduler-estimator"

AGENT_USER_PREFIX = "system:karmada:agent:"
AGENT_GROUP = "system:karmada:agents"
AGENT_RBAC_GENERATOR_USER = "system:karmada:agent:rbac-generator"
REGISTRATION_GROUP_PREFIX = "system:karmada:registration:"
"""Group of whoever holds a certificate of one registration of a cluster; its agent's roles are bound to it."""
BOOTSTRAP_USER_PREFIX = "system:bootstrap:"
BOOTSTRAP_GROUP = "system:bootstrappers:karmada:default-cluster-token"
BOOTSTRAP_TOKEN_PREFIX = "bootstrap-token-"

GENERATED = "bcdfghjklmnpqrstvwxz2456789"
"""What Kubernetes makes the ends of generated names of, so that they form no words."""
_DIGIT_CODES = {ord(digit): GENERATED[ord(digit) % len(GENERATED)] for digit in "0123456789"}


class ExecutionSpaceError(ValueError):
    """A namespace was taken for an execution space and is none."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        super().__init__("the execution space name is in wrong format")


REMEMBERED = 4096
"""Hashes: those of one object are asked for one after another, and names that are gone must not stay by the ten
thousand."""


@lru_cache(maxsize=REMEMBERED)
def short_hash(text: str) -> str:
    """FNV-1a (32 bits) of the UTF-8 bytes, in decimal, spelled with letters that form no words."""
    state = 2166136261
    for byte in text.encode():
        state = (state ^ byte) * 16777619 & 0xFFFFFFFF
    return str(state).translate(_DIGIT_CODES)


def _dotted(name: str) -> str:
    # RBAC names may hold colons, names of custom resources may not.
    return name.replace(":", ".")


def binding_name(kind: str, name: str) -> str:
    """Name of the (Cluster)ResourceBinding of a template."""
    return f"{_dotted(name)}-{kind}".lower()


def work_name(kind: str, name: str, namespace: str) -> str:
    """Name of the Work that carries an object; pass an empty namespace for cluster-scoped objects."""
    stem = _dotted(name).lower()
    key = f"{namespace}-{stem}-{kind}" if namespace else f"{stem}-{kind}"
    return f"{stem}-{short_hash(key.lower())}"


def policy_name(namespace: str, name: str, group_version_kind: str) -> str:
    """Name of the policy that `karmadactl apply` and `promote` make; kind as `apps/v1, Kind=Deployment`."""
    return f"{_dotted(name)}-{short_hash(namespace + group_version_kind)}".lower()


def namespaced_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def binding_reference_key(namespace: str, name: str) -> str:
    """Suffix of the label by which an attached binding points at the binding it depends on."""
    return short_hash(namespaced_key(namespace, name))


def execution_space(cluster: str) -> str:
    """Namespace that holds the Works of a cluster."""
    return EXECUTION_SPACE_PREFIX + cluster


def cluster_of_execution_space(namespace: str) -> str:
    if not namespace.startswith(EXECUTION_SPACE_PREFIX):
        raise ExecutionSpaceError(namespace)
    return namespace[len(EXECUTION_SPACE_PREFIX) :]


def is_reserved_namespace(namespace: str) -> bool:
    """Namespaces whose content is Karmada's own and is never propagated."""
    return namespace in (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE) or namespace.startswith(EXECUTION_SPACE_PREFIX)


def member_service_account(cluster: str) -> str:
    return f"karmada-{cluster}"


def member_role(service_account: str) -> str:
    """ClusterRole and ClusterRoleBinding of a member's service account."""
    return f"karmada-controller-manager:{service_account}"


def impersonation_secret(cluster: str) -> str:
    return f"{cluster}-impersonator"


def denotes_derived(cluster: str) -> bool:
    """Whether what belongs to a cluster of this name could be taken for what belongs to another.

    Its Secret would be called like another's impersonation Secret, or its account in a member like the impersonator.
    """
    return f"-{cluster}".endswith(impersonation_secret(""))


def imported_endpoint_slice(cluster: str, endpoint_slice: str) -> str:
    return f"imported-{cluster}-{endpoint_slice}"


def dispatched_endpoint_slice(provider_cluster: str, endpoint_slice: str) -> str:
    return f"{provider_cluster}-{endpoint_slice}"


def derived_service(service: str) -> str:
    return f"derived-{service}"


def estimator_service(cluster: str, prefix: str = ESTIMATOR_PREFIX) -> str:
    return f"{prefix}-{cluster}"


def estimator_deployment(cluster: str) -> str:
    return f"{ESTIMATOR_PREFIX}-{cluster}"


def agent_user(cluster: str) -> str:
    return AGENT_USER_PREFIX + cluster


def agent_lease(cluster: str) -> str:
    """Leader election lease of a cluster's agents, in SYSTEM_NAMESPACE of the member."""
    return f"karmada-agent-{cluster}"
