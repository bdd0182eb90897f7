"""Feature gates: Karmada's names, stages and defaults, and the `--feature-gates` flag.

A `FeatureGates` value is immutable; components receive one and ask `enabled`. Gates of stage OWN are this project's
own: `KeepLastCopy`, with which neither a policy edit that fits no cluster nor an eviction without a healthy replacement
removes a workload's last running copy, and `AvoidEvictionLoops`, with which nothing new goes where a NoExecute taint
would evict it later; `RoomAwareScaling`, with which replicas that a cluster has no room for go to others;
`FederatedQuotaTree`, with which quotas may count several namespaces; and `ControlledMoves`, which obeys the fields of
policies that Karmada does not have and is therefore on. They are set by their names only: who turns on a whole stage,
as Karmada's own manifests do, means Karmada's features.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum


class Stage(Enum):
    """Maturity of a feature."""

    ALPHA = "ALPHA"
    BETA = "BETA"
    OWN = "OWN"


@dataclass(frozen=True, slots=True)
class Feature:
    """One gate."""

    stage: Stage
    default: bool
    summary: str


FEATURES: Mapping[str, Feature] = {
    "AvoidEvictionLoops": Feature(Stage.OWN, False, "nothing new is placed where a NoExecute taint would evict it"),
    "ContextualLogging": Feature(Stage.BETA, True, "log entries carry the context they arose in"),
    "ControllerPriorityQueue": Feature(Stage.BETA, True, "objects of the initial list yield to changes in controllers"),
    "ControlledMoves": Feature(Stage.OWN, True, "failback, disruptionBudget, fencing, rescheduleTriggers are obeyed"),
    "CustomizedClusterResourceModeling": Feature(Stage.BETA, True, "clusters are modelled by grades of nodes"),
    "Failover": Feature(Stage.BETA, False, "NoExecute taints evict, ClusterTaintPolicies are obeyed"),
    "FederatedQuotaEnforcement": Feature(Stage.ALPHA, False, "FederatedResourceQuotas limit scheduling"),
    "FederatedQuotaTree": Feature(Stage.OWN, False, "enforced quotas may count the namespaces of a label selector"),
    "GracefulEviction": Feature(Stage.BETA, True, "evicted workloads stay until the replacement is healthy"),
    "KeepLastCopy": Feature(Stage.OWN, False, "the last running copy of a workload is never removed"),
    "LoggingAlphaOptions": Feature(Stage.ALPHA, False, "experimental log options"),
    "LoggingBetaOptions": Feature(Stage.BETA, True, "log options that may still change"),
    "MultiClusterService": Feature(Stage.ALPHA, False, "MultiClusterServices are served"),
    "MultiplePodTemplatesScheduling": Feature(Stage.ALPHA, False, "components of a workload are placed as a set"),
    "PriorityBasedScheduling": Feature(Stage.BETA, True, "bindings are scheduled by priority"),
    "PropagateDeps": Feature(Stage.BETA, True, "what a workload depends on follows it"),
    "PropagationPolicyPreemption": Feature(Stage.ALPHA, False, "policies of higher priority take templates over"),
    "ResourceQuotaEstimate": Feature(Stage.ALPHA, False, "estimators look at ResourceQuotas"),
    "RoomAwareScaling": Feature(Stage.OWN, False, "fixed weights and FederatedHPAs heed the room that clusters have"),
    "SchedulingOvercommitProtection": Feature(Stage.ALPHA, False, "estimators count placements still under way"),
    "StatefulFailoverInjection": Feature(Stage.ALPHA, False, "state labels survive a failover"),
    "WorkloadAffinity": Feature(Stage.ALPHA, False, "workloads attract and repel each other"),
}
ALL_OF_STAGE = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}
_GROUP_OF = {stage: group for group, stage in ALL_OF_STAGE.items()}


class FeatureGateError(ValueError):
    """A flag that names no gate or no boolean; `text` is the offending part."""

    def __init__(self, message: str, text: str) -> None:
        self.text = text
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """What is on. `overrides` holds only what was set explicitly, AllAlpha and AllBeta included."""

    overrides: Mapping[str, bool] = field(default_factory=dict)

    def enabled(self, name: str) -> bool:
        feature = FEATURES.get(name)
        if feature is None:
            raise _unknown(name)
        if name in self.overrides:
            return self.overrides[name]
        # Turning a whole stage on or off touches every gate of it that was not set by itself.
        return self.overrides.get(_GROUP_OF.get(feature.stage, ""), feature.default)

    def with_overrides(self, overrides: Mapping[str, bool]) -> "FeatureGates":
        for name in overrides:
            if name not in FEATURES and name not in ALL_OF_STAGE:
                raise _unknown(name)
        return FeatureGates({**self.overrides, **overrides})

    def items(self) -> Iterator[tuple[str, bool]]:
        """Every gate and whether it is on."""
        return ((name, self.enabled(name)) for name in FEATURES)


DEFAULTS = FeatureGates()


def parse(text: str) -> FeatureGates:
    """Read the value of `--feature-gates`: `Failover=true,AllAlpha=false`."""
    overrides = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        name, value = name.strip(), value.strip()
        if not equals:
            raise FeatureGateError(f"missing bool value for {name}: write {name}=true or {name}=false", part)
        if value not in _BOOLEANS:
            raise FeatureGateError(f"invalid value of {name}={value}: write true or false", part)
        overrides[name] = _BOOLEANS[value]
    return DEFAULTS.with_overrides(overrides)


def choices() -> str:
    """The gates for a command's help, with a star where they are on by default."""
    listed = (f"{name}*" if feature.default else name for name, feature in FEATURES.items())
    return f"Pairs such as Failover=true. Gates (* is on by default): {', '.join([*ALL_OF_STAGE, *listed])}."


_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _unknown(name: str) -> FeatureGateError:
    near = difflib.get_close_matches(name, [*FEATURES, *ALL_OF_STAGE], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return FeatureGateError(f"unrecognized feature gate: {name}{hint}", name)
