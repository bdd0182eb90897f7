"""Flux Kustomization."""

from collections.abc import Sequence

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import flux
from karmada.interpreter.thirdparty.statuses import reflect_fields
from karmada.interpreter.thirdparty.tables import find

_FIELDS = ("lastAppliedRevision", "lastAttemptedRevision")


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    references = flux.References(resource)
    references.secret("decryption", "secretRef")
    references.secret("kubeConfig", "secretRef")
    references.add("ServiceAccount", find(resource, "spec", "serviceAccountName") or "")
    return references.all()


RULES = KindRules(
    retain=flux.retain,
    reflect=reflect_fields(*_FIELDS, "conditions", "observedGeneration", generations=True),
    aggregate=flux.aggregate(*_FIELDS),
    health=flux.is_ready("ReconciliationSucceeded"),
    dependencies=dependencies,
)
