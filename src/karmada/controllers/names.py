"""The names that `--controllers` accepts, and what it makes of a list of them."""

import difflib

NAMES = (
    "agentcsrapproving",
    "applicationFailover",
    "binding",
    "bindingStatus",
    "cluster",
    "clusterStatus",
    "clustertaintpolicy",
    "cronFederatedHorizontalPodAutoscaler",
    "deploymentReplicasSyncer",
    "endpointSlice",
    "endpointsliceCollect",
    "endpointsliceDispatch",
    "execution",
    "federatedHorizontalPodAutoscaler",
    "federatedResourceQuotaEnforcement",
    "federatedResourceQuotaStatus",
    "federatedResourceQuotaSync",
    "gracefulEviction",
    "hpaScaleTargetMarker",
    "multiclusterservice",
    "namespace",
    "remedy",
    "serviceExport",
    "serviceImport",
    "unifiedAuth",
    "workStatus",
    "workloadRebalancer",
)
GATES = {
    "clustertaintpolicy": "Failover",
    "endpointsliceCollect": "MultiClusterService",
    "endpointsliceDispatch": "MultiClusterService",
    "federatedResourceQuotaEnforcement": "FederatedQuotaEnforcement",
    "multiclusterservice": "MultiClusterService",
}
"""Controllers that start only with a feature gate."""


def parse_selection(text: str) -> tuple[str, ...]:
    """The items of `--controllers`; a name there is none of is refused."""
    items = tuple(item.strip() for item in text.split(",") if item.strip())
    for item in items:
        name = item.removeprefix("-")
        if item != "*" and name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}"
            raise ValueError(f'there is no controller "{name}": {hint}')
    return items
