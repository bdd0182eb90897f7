"""Options of controllers that this version lacks: their flags are accepted, and using one brings a warning."""

from dataclasses import dataclass

from karmada.machinery.flags import seconds
from karmada.machinery.options import flag

_HPA = "--horizontal-pod-autoscaler-"


@dataclass(frozen=True, slots=True)
class AutoscalerOptions:
    """How FederatedHPAs are reconciled."""

    period: float = flag(15.0, seconds, "Time between two reconciles of a FederatedHPA.", f"{_HPA}sync-period")
    stabilization: float = flag(
        300.0, seconds, "How far back recommendations are remembered.", f"{_HPA}downscale-stabilization"
    )
    tolerance: float = flag(0.1, float, "Deviation of usage that changes nothing.", f"{_HPA}tolerance")
    cpu_initialization: float = flag(
        300.0, seconds, "How long the CPU of new pods is ignored.", f"{_HPA}cpu-initialization-period"
    )
    readiness_delay: float = flag(
        30.0, seconds, "How long new pods may take to become ready.", f"{_HPA}initial-readiness-delay"
    )
