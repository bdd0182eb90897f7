"""The feature gates and flags that a simulation runs under: the running control plane's, where it publishes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from karmada.api.feature_gates import DEFAULTS, FEATURES, FeatureGates
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError

PAGE = "/configuration"
EVICTION = "enable-no-execute-taint-eviction"
RUNNING, ASSUMED = "as the control plane runs", "assumed, as the control plane does not publish them"


@dataclass(frozen=True, slots=True)
class Terms:
    """What decides beside policies and clusters."""

    gates: FeatureGates = DEFAULTS
    eviction: bool = False
    """`--enable-no-execute-taint-eviction`."""
    known: bool = False
    """Whether they were read from the running control plane."""
    overridden: bool = False
    """Whether flags of the command changed them."""
    idle: Mapping[str, str] = field(default_factory=dict)
    """By `plural.group`, why objects of a kind do nothing."""

    @property
    def source(self) -> str:
        """Where they come from, for people."""
        return f"{RUNNING if self.known else ASSUMED}{', changed by flags' if self.overridden else ''}"

    @property
    def evicts(self) -> bool:
        """Whether NoExecute taints drive workloads away."""
        return self.eviction and self.gates.enabled("Failover")

    def changed(self, gates: FeatureGates | None, eviction: bool | None) -> "Terms":
        """With what somebody asks for instead; None leaves a part as it is."""
        made = replace(self, gates=self.gates.with_overrides(gates.overrides)) if gates is not None else self
        made = replace(made, eviction=eviction) if eviction is not None else made
        return made if made is self else replace(made, overridden=True)

    def __str__(self) -> str:
        unusual = [f"{name}={str(on).lower()}" for name, on in self.gates.items() if on != FEATURES[name].default]
        gates = ",".join(unusual) or "at their defaults"
        needs = "" if self.evicts else f" (that takes the gate Failover and --{EVICTION})"
        evict = "evict" if self.evicts else "do not evict"
        return f"Feature gates ({self.source}): {gates}. NoExecute taints {evict}{needs}."

    def data(self) -> dict[str, Any]:
        """For programs."""
        return {"source": self.source, "featureGates": dict(self.gates.items()), "noExecuteEvicts": self.evicts}


async def running(hub: Client) -> Terms:
    """The terms of a control plane; defaults where it does not publish them: components of their own keep theirs."""
    try:
        published = orjson.loads(await hub.transport.raw("GET", PAGE))
        gates = {
            name: on for name, on in published["featureGates"].items() if name in FEATURES and isinstance(on, bool)
        }
        idle = {str(kind): str(reason) for kind, reason in (published.get("idleKinds") or {}).items()}
        return Terms(DEFAULTS.with_overrides(gates), published["flags"].get(EVICTION) is True, known=True, idle=idle)
    except (ApiError, ValueError, KeyError, TypeError, AttributeError):
        return Terms()
