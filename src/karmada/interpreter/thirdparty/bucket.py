"""Flux Bucket."""

from karmada.interpreter.model import KindRules
from karmada.interpreter.thirdparty import flux
from karmada.interpreter.thirdparty.statuses import reflect_fields

_FIELDS = ("url", "observedIgnore")

RULES = KindRules(
    retain=flux.retain,
    reflect=reflect_fields(*_FIELDS, "conditions", "observedGeneration", generations=True),
    aggregate=flux.aggregate(*_FIELDS, "artifact", defaults={"url": ""}),
    health=flux.is_ready("Succeeded"),
    dependencies=flux.secrets_at(("secretRef",)),
)
