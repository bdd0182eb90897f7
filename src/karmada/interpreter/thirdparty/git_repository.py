"""Flux GitRepository."""

from karmada.interpreter.model import KindRules
from karmada.interpreter.thirdparty import flux
from karmada.interpreter.thirdparty.statuses import reflect_fields

_FIELDS = ("artifact", "observedIgnore", "observedRecurseSubmodules")

RULES = KindRules(
    retain=flux.retain,
    reflect=reflect_fields(*_FIELDS, "conditions", "observedGeneration", generations=True),
    aggregate=flux.aggregate(*_FIELDS),
    health=flux.is_ready("Succeeded"),
    dependencies=flux.secrets_at(("secretRef",), ("verify", "secretRef")),
)
