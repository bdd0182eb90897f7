"""Flux OCIRepository."""

from collections.abc import Sequence

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import flux
from karmada.interpreter.thirdparty.statuses import reflect_fields
from karmada.interpreter.thirdparty.tables import find

_FIELDS = ("artifact", "url")


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    references = flux.References(resource)
    references.secret("secretRef")
    references.secret("verify", "secretRef")
    references.secret("certSecretRef")
    references.add("ServiceAccount", find(resource, "spec", "serviceAccountName"))
    return references.all()


RULES = KindRules(
    retain=flux.retain,
    reflect=reflect_fields(*_FIELDS, "conditions", "observedGeneration", generations=True),
    aggregate=flux.aggregate(*_FIELDS, defaults={"url": ""}),
    health=flux.is_ready("Succeeded"),
    dependencies=dependencies,
)
