"""Every controller of the control plane in one table: its name, gate, default, options and factory.

`--controllers`, the flags of `karmada-controller-manager` and `karmada up`, the warnings about flags without effect and
the manager all follow from `CONTROLLERS`. A controller is added by one row.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from karmada.api.feature_gates import FeatureGates
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.agent_csr import AgentRequestController
from karmada.controllers.application_failover import ApplicationFailoverController
from karmada.controllers.binding import BindingController
from karmada.controllers.binding_status import BindingStatusController
from karmada.controllers.cluster import ClusterController
from karmada.controllers.cluster_monitor import ClusterMonitor, MonitorOptions
from karmada.controllers.cluster_status import ClusterStatusController, StatusOptions
from karmada.controllers.cluster_taints import ClusterTaintPolicyController
from karmada.controllers.context import Context
from karmada.controllers.cron_autoscaler import CronAutoscalerController
from karmada.controllers.dependencies import GATE, DependenciesDistributor
from karmada.controllers.detector.detector import Detector
from karmada.controllers.endpointslice_collect import EndpointSliceCollector
from karmada.controllers.endpointslice_dispatch import EndpointSliceDispatcher
from karmada.controllers.endpointslice_import import EndpointOptions, EndpointSliceImporter
from karmada.controllers.eviction_storm import EvictionStorm, EvictionStormController, StormOptions
from karmada.controllers.execution import ExecutionController
from karmada.controllers.failback import FailbackController
from karmada.controllers.federated_hpa import AutoscalerOptions, FederatedHPAController
from karmada.controllers.graceful_eviction import GracefulEvictionController, GracefulEvictionOptions
from karmada.controllers.leftover_slices import LeftoverSlices
from karmada.controllers.multicluster_service import GATE as SERVICES
from karmada.controllers.multicluster_service import MultiClusterServiceController
from karmada.controllers.namespace import NamespaceController
from karmada.controllers.quota_enforcement import QuotaEnforcementController, QuotaOptions
from karmada.controllers.quota_status import QuotaStatusController
from karmada.controllers.quota_sync import QuotaSyncController
from karmada.controllers.remedy import RemedyController
from karmada.controllers.replicas_syncer import ReplicasSyncer
from karmada.controllers.resumption.group import Records
from karmada.controllers.resumption.parts import Parts
from karmada.controllers.scale_target_marker import ScaleTargetMarker
from karmada.controllers.selection import Selection
from karmada.controllers.service_export import ServiceExportController
from karmada.controllers.service_export_status import ServiceExportStatusController
from karmada.controllers.service_import import ServiceImportController
from karmada.controllers.sharding import Divide, by_binding, by_cluster, by_member
from karmada.controllers.status_reporter import StatusReporter
from karmada.controllers.taint_manager import TaintManager, TaintManagerOptions
from karmada.controllers.templates import Templates
from karmada.controllers.ungated import once_needed
from karmada.controllers.unified_auth import UnifiedAuthController
from karmada.controllers.work_status import WorkStatusController
from karmada.controllers.workload_rebalancer import WorkloadRebalancerController
from karmada.machinery.controller import Controller
from karmada.machinery.options import Options
from karmada.machinery.sharding.ownership import Ownership
from karmada.membership.members import Members

TEMPLATES = "templates"
"""The task that follows resource templates of all kinds."""
Part = Controller[Any] | Callable[[], Awaitable[None]]


class Shared:
    """What factories make controllers of: the context, the members, and parts that several controllers share."""

    def __init__(
        self,
        context: Context,
        members: Members,
        selection: Selection,
        options: Options,
        readable: Members | None = None,
        records: Records | None = None,
    ) -> None:
        self.context = context
        self.members = members
        self.readable = readable or members
        """The members for controllers that only read."""
        self.selection = selection
        self.options = options
        self.records = records
        """Where is kept over a restart what need not be looked at."""
        self.ownership: Ownership | None = None
        """The shards of this process; None when it has all keys."""

    @cached_property
    def templates(self) -> Templates:
        """The resource templates of all kinds that may be propagated."""
        return Templates(self.context)

    @cached_property
    def parts(self) -> Parts:
        """The controllers that act on bindings, as far as they were made."""
        return Parts(self.templates, self.members, self.status_reporter)

    @cached_property
    def storm(self) -> EvictionStorm:
        """Says when evictions have to wait."""
        return EvictionStorm(self.context, self.options.of(StormOptions))

    @cached_property
    def status_reporter(self) -> StatusReporter | None:
        """Writes the status of members' objects into Works; None when nobody is to."""
        return StatusReporter(self.context) if self.selection.enabled("workStatus") else None


@dataclass(frozen=True, slots=True)
class Registration:
    """One controller: the name `--controllers` knows it by, and how it is made."""

    name: str
    build: Callable[[Shared], Iterable[tuple[str, Part]]]
    """The parts that run, each with the name of its task."""
    gate: str = ""
    """The feature gate without which it does not start."""
    releases: bool = False
    """Whether it starts without its gate too, to release what it held while the gate was on."""
    by_default: bool = True
    """Whether `*` includes it."""
    options: tuple[type[Any], ...] = ()
    """Dataclasses whose fields are its flags."""
    optional: bool = True
    """Whether `--controllers` can turn it off."""
    divide: Divide | None = None
    """How its keys are divided between replicas; None for a controller that only the holder of the first shard runs."""

    def wanted(self, selection: Selection, gates: FeatureGates) -> bool:
        """Whether it is to run."""
        selected = not self.optional or selection.enabled(self.name, self.by_default)
        return selected and (not self.gate or self.releases or gates.enabled(self.gate))


def _detector(shared: Shared) -> Iterable[tuple[str, Part]]:
    detector = shared.parts.detector = Detector(shared.context, shared.templates)
    yield TEMPLATES, shared.templates.run
    yield "resource-detector", detector.templates
    yield "resource-detector policies", detector.policies


def _dependencies(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "dependencies-distributor", DependenciesDistributor(shared.context, shared.templates).controller


def _binding(shared: Shared) -> Iterable[tuple[str, Part]]:
    binding = shared.parts.binding = BindingController(shared.context, shared.templates)
    yield "binding", binding.controller


def _binding_status(shared: Shared) -> Iterable[tuple[str, Part]]:
    status = shared.parts.binding_status = BindingStatusController(shared.context, shared.templates)
    yield "bindingStatus", status.controller


def _execution(shared: Shared) -> Iterable[tuple[str, Part]]:
    works = shared.context.informers.of(Work)
    execution = ExecutionController(shared.context, shared.members, works, shared.status_reporter)
    shared.parts.execution = execution
    yield "execution", execution.controller


def _work_status(shared: Shared) -> Iterable[tuple[str, Part]]:
    works, reporter = shared.context.informers.of(Work), shared.status_reporter
    assert reporter is not None
    status = shared.parts.work_status = WorkStatusController(shared.context, shared.members, works, reporter)
    yield "workStatus", status.controller


def _cluster(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "cluster", ClusterController(shared.context).controller
    yield "cluster monitor", ClusterMonitor(shared.context, shared.options.of(MonitorOptions)).controller


def _cluster_status(shared: Shared) -> Iterable[tuple[str, Part]]:
    status = ClusterStatusController(shared.context, shared.members, shared.options.of(StatusOptions))
    if shared.ownership is not None:
        shared.ownership.on_lost(partial(status.lost, shared.ownership))
    yield "clusterStatus", status.controller


def _namespace(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "namespace", NamespaceController(shared.context).controller


def _unified_auth(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "unifiedAuth", UnifiedAuthController(shared.context).controller


def _agent_csr(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "agentcsrapproving", AgentRequestController(shared.context).controller


def _taint_policy(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "clustertaintpolicy", ClusterTaintPolicyController(shared.context).controller


def _quota_enforcement(shared: Shared) -> Iterable[tuple[str, Part]]:
    period = shared.options.of(QuotaOptions).period
    yield "federatedResourceQuotaEnforcement", QuotaEnforcementController(shared.context, period).controller


def _quota_sync(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "federatedResourceQuotaSync", QuotaSyncController(shared.context).controller


def _quota_status(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "federatedResourceQuotaStatus", QuotaStatusController(shared.context).controller


def _cron_autoscaler(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "cronFederatedHorizontalPodAutoscaler", CronAutoscalerController(shared.context).controller


def _federated_hpa(shared: Shared) -> Iterable[tuple[str, Part]]:
    options = shared.options.of(AutoscalerOptions)
    hpa = FederatedHPAController(shared.context, shared.members, shared.templates, options, shared.readable)
    yield "federatedHorizontalPodAutoscaler", hpa.controller


def _scale_target_marker(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "hpaScaleTargetMarker", ScaleTargetMarker(shared.context, shared.templates).controller


def _replicas_syncer(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "deploymentReplicasSyncer", ReplicasSyncer(shared.context).controller


def _taint_manager(shared: Shared) -> Iterable[tuple[str, Part]]:
    options = shared.options.of(TaintManagerOptions)
    if options.enabled:
        yield "taintManager", TaintManager(shared.context, options, shared.storm).controller


def _application_failover(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "applicationFailover", ApplicationFailoverController(shared.context, shared.storm).controller


def _eviction_storm(shared: Shared) -> Iterable[tuple[str, Part]]:
    if shared.options.of(StormOptions).threshold < 1:
        yield "evictionStorm", EvictionStormController(shared.context, shared.storm).controller


def _graceful_eviction(shared: Shared) -> Iterable[tuple[str, Part]]:
    options = shared.options.of(GracefulEvictionOptions)
    yield "gracefulEviction", GracefulEvictionController(shared.context, options).controller


def _failback(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "failback", FailbackController(shared.context).controller


def _remedy(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "remedy", RemedyController(shared.context).controller


def _workload_rebalancer(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "workloadRebalancer", WorkloadRebalancerController(shared.context).controller


def _endpoint_slice(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "endpointSlice", EndpointSliceImporter(shared.context, shared.options.of(EndpointOptions)).controller


def _service_export(shared: Shared) -> Iterable[tuple[str, Part]]:
    works = shared.context.informers.of(Work)
    exports = ServiceExportController(shared.context, shared.members, works)
    yield "serviceExport", exports.controller
    yield "serviceExport status", ServiceExportStatusController(shared.context, works, exports.collected).controller


def _service_import(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "serviceImport", ServiceImportController(shared.context).controller


def _of_services(shared: Shared, build: Callable[[], Controller[Any]]) -> Part:
    return build() if shared.context.gates.enabled(SERVICES) else once_needed(shared.context, build)


def _multicluster_service(shared: Shared) -> Iterable[tuple[str, Part]]:
    yield "multiclusterservice", _of_services(shared, lambda: MultiClusterServiceController(shared.context).controller)


def _endpointslice_collect(shared: Shared) -> Iterable[tuple[str, Part]]:
    works = shared.context.informers.of(Work)
    yield "endpointsliceCollect", EndpointSliceCollector(shared.context, shared.members, works).controller


def _endpointslice_dispatch(shared: Shared) -> Iterable[tuple[str, Part]]:
    options = shared.options.of(EndpointOptions)
    works = shared.context.informers.of(Work)
    yield (
        "endpointsliceDispatch",
        _of_services(shared, lambda: EndpointSliceDispatcher(shared.context, options).controller),
    )
    if shared.context.gates.enabled(SERVICES):
        yield "endpointsliceDispatch leftovers", LeftoverSlices(shared.context, shared.members, works).controller


_ENFORCED = "FederatedQuotaEnforcement"
CONTROLLERS = (
    Registration("resource-detector", _detector, optional=False),
    Registration("dependencies-distributor", _dependencies, gate=GATE, releases=True, optional=False),
    Registration("taintManager", _taint_manager, options=(TaintManagerOptions,), gate="Failover", optional=False),
    Registration("evictionStorm", _eviction_storm, options=(StormOptions,), optional=False),
    Registration("agentcsrapproving", _agent_csr),
    Registration("applicationFailover", _application_failover),
    Registration("binding", _binding, divide=by_binding),
    Registration("bindingStatus", _binding_status, divide=by_binding),
    Registration("cluster", _cluster, options=(MonitorOptions,)),
    Registration("clusterStatus", _cluster_status, options=(StatusOptions,), divide=by_cluster),
    Registration("clustertaintpolicy", _taint_policy, gate="Failover"),
    Registration("cronFederatedHorizontalPodAutoscaler", _cron_autoscaler),
    Registration("deploymentReplicasSyncer", _replicas_syncer, by_default=False),
    Registration("endpointSlice", _endpoint_slice, options=(EndpointOptions,)),
    Registration("endpointsliceCollect", _endpointslice_collect, gate=SERVICES),
    Registration("endpointsliceDispatch", _endpointslice_dispatch, gate=SERVICES, releases=True),
    Registration("execution", _execution, divide=by_member),
    Registration("failback", _failback, gate="ControlledMoves"),
    Registration("federatedHorizontalPodAutoscaler", _federated_hpa, options=(AutoscalerOptions,)),
    Registration("federatedResourceQuotaEnforcement", _quota_enforcement, gate=_ENFORCED, options=(QuotaOptions,)),
    Registration("federatedResourceQuotaStatus", _quota_status),
    Registration("federatedResourceQuotaSync", _quota_sync),
    Registration("gracefulEviction", _graceful_eviction, options=(GracefulEvictionOptions,)),
    Registration("hpaScaleTargetMarker", _scale_target_marker, by_default=False),
    Registration("multiclusterservice", _multicluster_service, gate=SERVICES, releases=True),
    Registration("namespace", _namespace),
    Registration("remedy", _remedy),
    Registration("serviceExport", _service_export),
    Registration("serviceImport", _service_import),
    Registration("unifiedAuth", _unified_auth),
    Registration("workStatus", _work_status, divide=by_member),
    Registration("workloadRebalancer", _workload_rebalancer),
)
