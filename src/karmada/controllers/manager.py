"""Starts the controllers of the control plane: which ones, and in what order nothing depends on."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from karmada.api.work.v1alpha1 import Work
from karmada.controllers.agent_csr import AgentRequestController
from karmada.controllers.binding import BindingController
from karmada.controllers.binding_status import BindingStatusController
from karmada.controllers.cluster import ClusterController
from karmada.controllers.cluster_monitor import ClusterMonitor, MonitorOptions
from karmada.controllers.cluster_status import ClusterStatusController, StatusOptions
from karmada.controllers.cluster_taints import ClusterTaintPolicyController
from karmada.controllers.context import Context
from karmada.controllers.dependencies import DependenciesDistributor
from karmada.controllers.detector.detector import Detector
from karmada.controllers.execution import ExecutionController
from karmada.controllers.members import Members
from karmada.controllers.namespace import NamespaceController
from karmada.controllers.quota_enforcement import PERIOD, QuotaEnforcementController
from karmada.controllers.status_reporter import Reflection
from karmada.controllers.templates import Templates
from karmada.controllers.unified_auth import UnifiedAuthController
from karmada.controllers.work_status import WorkStatusController
from karmada.machinery.controller import Controller
from karmada.machinery.supervisor import Supervisor

DISABLED_BY_DEFAULT = frozenset({"hpaScaleTargetMarker", "deploymentReplicasSyncer"})
Loop = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Selection:
    """`--controllers`: items `*`, `name`, `-name`; the first item that decides wins."""

    items: tuple[str, ...] = ("*",)

    def enabled(self, name: str) -> bool:
        """Whether a controller is to run."""
        for item in self.items:
            if item == name:
                return True
            if item == f"-{name}":
                return False
        return "*" in self.items and name not in DISABLED_BY_DEFAULT


@dataclass(slots=True)
class ControllerManager:
    """The controllers of one process."""

    context: Context
    members: Members
    selection: Selection = field(default_factory=Selection)
    status: StatusOptions = field(default_factory=StatusOptions)
    monitor: MonitorOptions = field(default_factory=MonitorOptions)
    quota_period: float = PERIOD

    def start(self, supervisor: Supervisor) -> list[Controller[Any]]:
        """Start every selected controller, each restarted on its own when it dies; those with queues to look at."""
        started = []
        for name, part in self._parts():
            if isinstance(part, Controller):
                supervisor.start(name, part.run)
                started.append(part)
            else:
                supervisor.start(name, part)
        return started

    def _parts(self) -> Iterable[tuple[str, Controller[Any] | Loop]]:
        templates = Templates(self.context)
        detector = Detector(self.context, templates)
        yield "templates", templates.run
        yield "resource-detector", detector.templates
        yield "resource-detector policies", detector.policies
        if self.context.gates.enabled("PropagateDeps"):
            yield "dependencies-distributor", DependenciesDistributor(self.context, templates).controller
        if self.selection.enabled("binding"):
            yield "binding", BindingController(self.context, templates).controller
        if self.selection.enabled("bindingStatus"):
            yield "bindingStatus", BindingStatusController(self.context, templates).controller
        works = self.context.informers.of(Work)
        reflection = Reflection(self.context) if self.selection.enabled("workStatus") else None
        if self.selection.enabled("execution"):
            yield "execution", ExecutionController(self.context, self.members, works, reflection).controller
        if reflection is not None:
            yield "workStatus", WorkStatusController(self.context, self.members, works, reflection).controller
        if self.selection.enabled("cluster"):
            yield "cluster", ClusterController(self.context).controller
            yield "cluster monitor", ClusterMonitor(self.context, self.monitor).controller
        if self.selection.enabled("clusterStatus"):
            status = ClusterStatusController(self.context, self.members, self.status)
            yield "clusterStatus", status.controller
        if self.selection.enabled("namespace"):
            yield "namespace", NamespaceController(self.context).controller
        if self.selection.enabled("unifiedAuth"):
            yield "unifiedAuth", UnifiedAuthController(self.context).controller
        if self.selection.enabled("agentcsrapproving"):
            yield "agentcsrapproving", AgentRequestController(self.context).controller
        if self.selection.enabled("clustertaintpolicy") and self.context.gates.enabled("Failover"):
            yield "clustertaintpolicy", ClusterTaintPolicyController(self.context).controller
        if self.selection.enabled("federatedResourceQuotaEnforcement") and self.context.gates.enabled(
            "FederatedQuotaEnforcement"
        ):
            enforcement = QuotaEnforcementController(self.context, self.quota_period)
            yield "federatedResourceQuotaEnforcement", enforcement.controller
