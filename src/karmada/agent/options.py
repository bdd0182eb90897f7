"""Options of an agent."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from karmada.api import names
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.context import Concurrency
from karmada.membership.reporting import CREDENTIALS, IMPERSONATOR


@dataclass(frozen=True, slots=True)
class RotationOptions:
    """When the agent's certificate is renewed, and where its kubeconfig is kept in the member."""

    period: float = 300.0
    threshold: float = 0.2
    """Renewed when this share of its life, or less, is left."""
    space: str = names.SYSTEM_NAMESPACE


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """How the agent shows that it is alive."""

    duration: float = 40.0
    fraction: float = 0.25


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Options of an agent."""

    cluster: str
    api_endpoint: str = ""
    insecure: bool = False
    space: str = names.CLUSTER_NAMESPACE
    provider: str = ""
    region: str = ""
    zones: Sequence[str] = ()
    proxy: str = ""
    report_secrets: frozenset[str] = frozenset({CREDENTIALS, IMPERSONATOR})
    controllers: Sequence[str] = ("*",)
    tunnel: bool = False
    status: StatusOptions = field(default_factory=StatusOptions)
    lease: LeaseOptions = field(default_factory=LeaseOptions)
    rotation: RotationOptions = field(default_factory=RotationOptions)
    concurrency: Concurrency = field(default_factory=Concurrency)
    gates: FeatureGates = DEFAULTS

    def enabled(self, controller: str) -> bool:
        """`--controllers`: items `*`, `name`, `-name`."""
        if f"-{controller}" in self.controllers:
            return False
        return "*" in self.controllers or controller in self.controllers
