"""Argo Workflow."""

from collections.abc import Sequence

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import pods, rules
from karmada.interpreter.thirdparty.values import find, get

_UNHEALTHY = (None, "", "Failed", "Error")
_NODES = ("nodeSelector", "tolerations", "affinity")
_REFERENCES = (
    *pods.VOLUMES,
    ("Secret", "imagePullSecrets/*/name"),
    ("ServiceAccount", "executor/serviceAccountName"),
    ("PersistentVolumeClaim", "volumeClaimTemplates/*/metadata!/name"),
)


def _replicas(resource: JSONObject) -> ReplicaNeeds:
    """As many pods as run at the same time; what they need differs from step to step, so only nodes are claimed."""
    claim = {field: value for field in _NODES if (value := get(resource, "spec", field)) is not None}
    spec = {"parallelism": get(resource, "spec", "parallelism"), "template": {"spec": claim}}
    return rules.replicas("parallelism", 1)({"spec": spec})


def _dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    spec = get(resource, "spec")
    account = get(spec, "serviceAccountName")
    own = pods.named(resource, [("ServiceAccount", account)]) if account not in (None, "", "default") else ()
    return (*own, *pods.references(resource, _REFERENCES, spec))


WORKFLOW = KindRules(
    replicas=_replicas,
    revise=rules.revise("parallelism"),
    retain=rules.retain(rules.SUSPENDED, ("status",)),
    health=lambda observed: find(observed, "status", "phase") not in _UNHEALTHY,
    dependencies=_dependencies,
)
