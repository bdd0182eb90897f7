"""Flux HelmChart."""

from karmada.interpreter.model import KindRules
from karmada.interpreter.thirdparty import flux
from karmada.interpreter.thirdparty.statuses import reflect_fields

_FIELDS = ("artifact", "observedChartName", "observedSourceArtifactRevision", "url")

RULES = KindRules(
    retain=flux.retain,
    reflect=reflect_fields(*_FIELDS, "conditions", generations=True),
    aggregate=flux.aggregate(
        *_FIELDS, defaults={"observedChartName": "", "observedSourceArtifactRevision": "", "url": ""}
    ),
    health=flux.is_ready("Succeeded", "ChartPullSucceeded"),
    dependencies=flux.secrets_at(("verify", "secretRef")),
)
