"""Every Karmada kind in one table: the single source for CRDs, typed clients and the CLI.

One entry per kind, with its versions. Where a kind is served from decides who installs it: kinds with a CRD live in the
control plane's API server, `AGGREGATED` ones behind an APIService, and the operator's kind in the host cluster.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from karmada.api.apps import v1alpha1 as apps
from karmada.api.autoscaling import v1alpha1 as autoscaling
from karmada.api.base import Struct
from karmada.api.cluster import v1alpha1 as cluster
from karmada.api.config import v1alpha1 as config
from karmada.api.multicluster import v1alpha1 as multicluster
from karmada.api.networking import v1alpha1 as networking
from karmada.api.operator import v1alpha1 as operator
from karmada.api.policy import v1alpha1 as policy
from karmada.api.remedy import v1alpha1 as remedy
from karmada.api.search import v1alpha1 as search
from karmada.api.work import v1alpha1 as work_v1alpha1
from karmada.api.work import v1alpha2 as work


class Home(Enum):
    """Who serves a kind."""

    CRD = "crd"
    """The API server of the control plane, by a CRD."""
    AGGREGATED = "aggregated"
    """An aggregated API server of the control plane."""
    HOST = "host"
    """The API server of the host cluster, by a CRD."""


class Column(NamedTuple):
    """A column of `kubectl get`."""

    name: str
    json_path: str
    type: str = "string"
    wide: bool = False
    """Shown only with `-o wide`."""


class Version(NamedTuple):
    """A kind in one API version."""

    name: str
    type: type[Struct]
    columns: tuple[Column, ...] = ()
    """Columns after NAME; NAME and AGE if empty."""
    subresources: tuple[str, ...] | None = None
    """None: the CRD says nothing about subresources."""
    storage: bool = True
    """Whether objects are stored in this version."""


class Kind(NamedTuple):
    """A kind."""

    group: str
    kind: str
    plural: str
    versions: tuple[Version, ...]
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    categories: tuple[str, ...] = ("karmada-io",)
    home: Home = Home.CRD

    @property
    def singular(self) -> str:
        """Name for one object in commands."""
        return self.kind.lower()

    @property
    def storage(self) -> Version:
        """The version in which objects are stored."""
        return next(version for version in self.versions if version.storage)


def _condition(name: str, type_: str) -> Column:
    return Column(name, f'.status.conditions[?(@.type=="{type_}")].status')


_AGE = Column("AGE", ".metadata.creationTimestamp", "date")
_STATUS = ("status",)
_POLICY_COLUMNS = (
    Column("CONFLICT-RESOLUTION", ".spec.conflictResolution"),
    Column("PRIORITY", ".spec.priority"),
    _AGE,
)
_BINDING_COLUMNS = (_condition("SCHEDULED", "Scheduled"), _condition("FULLYAPPLIED", "FullyApplied"), _AGE)
_REFERENCE_COLUMNS = (
    Column("REFERENCE-KIND", ".spec.scaleTargetRef.kind"),
    Column("REFERENCE-NAME", ".spec.scaleTargetRef.name"),
)

KINDS: tuple[Kind, ...] = (
    Kind(
        group="apps.karmada.io",
        kind="WorkloadRebalancer",
        plural="workloadrebalancers",
        versions=(Version("v1alpha1", apps.WorkloadRebalancer, subresources=_STATUS),),
        namespaced=False,
        categories=(),
    ),
    Kind(
        group="autoscaling.karmada.io",
        kind="CronFederatedHPA",
        plural="cronfederatedhpas",
        versions=(
            Version(
                "v1alpha1", autoscaling.CronFederatedHPA, columns=(*_REFERENCE_COLUMNS, _AGE), subresources=_STATUS
            ),
        ),
        short_names=("cronfhpa",),
    ),
    Kind(
        group="autoscaling.karmada.io",
        kind="ExternalMetric",
        plural="externalmetrics",
        versions=(
            Version("v1alpha1", autoscaling.ExternalMetric, columns=(Column("METRIC", ".spec.metricName"), _AGE)),
        ),
        namespaced=False,
    ),
    Kind(
        group="autoscaling.karmada.io",
        kind="FederatedHPA",
        plural="federatedhpas",
        versions=(
            Version(
                "v1alpha1",
                autoscaling.FederatedHPA,
                columns=(
                    *_REFERENCE_COLUMNS,
                    Column("MINPODS", ".spec.minReplicas", "integer"),
                    Column("MAXPODS", ".spec.maxReplicas", "integer"),
                    Column("REPLICAS", ".status.currentReplicas", "integer"),
                    _AGE,
                ),
                subresources=_STATUS,
            ),
        ),
        short_names=("fhpa",),
    ),
    Kind(
        group="cluster.karmada.io",
        kind="Cluster",
        plural="clusters",
        versions=(
            Version(
                "v1alpha1",
                cluster.Cluster,
                columns=(
                    Column("Version", ".status.kubernetesVersion"),
                    Column("Mode", ".spec.syncMode"),
                    _condition("Ready", "Ready"),
                    Column("Age", ".metadata.creationTimestamp", "date"),
                    Column("Zones", ".spec.zones", wide=True),
                    Column("Region", ".spec.region", wide=True),
                    Column("Provider", ".spec.provider", wide=True),
                    Column("API-Endpoint", ".spec.apiEndpoint", wide=True),
                    Column("Proxy-URL", ".spec.proxyURL", wide=True),
                ),
                subresources=("status", "proxy"),
            ),
        ),
        namespaced=False,
        categories=(),
        home=Home.AGGREGATED,
    ),
    Kind(
        group="config.karmada.io",
        kind="ReplicaSchedulingPolicy",
        plural="replicaschedulingpolicies",
        versions=(
            Version(
                "v1alpha1",
                config.ReplicaSchedulingPolicy,
                columns=(
                    Column("ENABLED", ".spec.reschedulePolicy.enabled", "boolean"),
                    Column("INTERVAL", ".spec.reschedulePolicy.interval"),
                    Column("CPU%", ".spec.reschedulePolicy.threshold.cpuUtilization", "integer"),
                    Column("MEMORY%", ".spec.reschedulePolicy.threshold.memoryUtilization", "integer"),
                    Column("LAST-EVALUATION", ".status.lastEvaluationTime", "date"),
                    _AGE,
                ),
                subresources=_STATUS,
            ),
        ),
        short_names=("rsp",),
        namespaced=False,
    ),
    Kind(
        group="config.karmada.io",
        kind="ResourceInterpreterCustomization",
        plural="resourceinterpretercustomizations",
        versions=(
            Version(
                "v1alpha1",
                config.ResourceInterpreterCustomization,
                columns=(
                    Column("TARGET-API-VERSION", ".spec.target.apiVersion"),
                    Column("TARGET-KIND", ".spec.target.kind"),
                    _AGE,
                ),
                subresources=(),
            ),
        ),
        short_names=("ric",),
        namespaced=False,
    ),
    Kind(
        group="config.karmada.io",
        kind="ResourceInterpreterWebhookConfiguration",
        plural="resourceinterpreterwebhookconfigurations",
        versions=(Version("v1alpha1", config.ResourceInterpreterWebhookConfiguration),),
        namespaced=False,
    ),
    Kind(
        group="multicluster.x-k8s.io",
        kind="ServiceExport",
        plural="serviceexports",
        versions=(
            Version(
                "v1alpha1",
                multicluster.ServiceExport,
                columns=(Column("Age", ".metadata.creationTimestamp", "date"),),
                subresources=_STATUS,
            ),
        ),
        short_names=("svcex",),
        categories=(),
    ),
    Kind(
        group="multicluster.x-k8s.io",
        kind="ServiceImport",
        plural="serviceimports",
        versions=(
            Version(
                "v1alpha1",
                multicluster.ServiceImport,
                columns=(
                    Column("Type", ".spec.type"),
                    Column("IP", ".spec.ips"),
                    Column("Age", ".metadata.creationTimestamp", "date"),
                ),
                subresources=_STATUS,
            ),
        ),
        short_names=("svcim",),
        categories=(),
    ),
    Kind(
        group="networking.karmada.io",
        kind="MultiClusterIngress",
        plural="multiclusteringresses",
        versions=(Version("v1alpha1", networking.MultiClusterIngress, subresources=_STATUS),),
        short_names=("mci",),
    ),
    Kind(
        group="networking.karmada.io",
        kind="MultiClusterService",
        plural="multiclusterservices",
        versions=(Version("v1alpha1", networking.MultiClusterService, subresources=_STATUS),),
        short_names=("mcs",),
    ),
    Kind(
        group="operator.karmada.io",
        kind="Karmada",
        plural="karmadas",
        versions=(
            Version("v1alpha1", operator.Karmada, columns=(_condition("READY", "Ready"), _AGE), subresources=_STATUS),
        ),
        home=Home.HOST,
    ),
    Kind(
        group="policy.karmada.io",
        kind="ClusterOverridePolicy",
        plural="clusteroverridepolicies",
        versions=(Version("v1alpha1", policy.ClusterOverridePolicy),),
        short_names=("cop",),
        namespaced=False,
    ),
    Kind(
        group="policy.karmada.io",
        kind="ClusterPropagationPolicy",
        plural="clusterpropagationpolicies",
        versions=(Version("v1alpha1", policy.ClusterPropagationPolicy, columns=_POLICY_COLUMNS, subresources=()),),
        short_names=("cpp",),
        namespaced=False,
    ),
    Kind(
        group="policy.karmada.io",
        kind="ClusterTaintPolicy",
        plural="clustertaintpolicies",
        versions=(Version("v1alpha1", policy.ClusterTaintPolicy),),
        namespaced=False,
        categories=(),
    ),
    Kind(
        group="policy.karmada.io",
        kind="FederatedResourceQuota",
        plural="federatedresourcequotas",
        versions=(
            Version(
                "v1alpha1",
                policy.FederatedResourceQuota,
                columns=(Column("OVERALL", ".status.overall"), Column("OVERALL_USED", ".status.overallUsed")),
                subresources=_STATUS,
            ),
        ),
    ),
    Kind(
        group="policy.karmada.io",
        kind="OverridePolicy",
        plural="overridepolicies",
        versions=(Version("v1alpha1", policy.OverridePolicy),),
        short_names=("op",),
    ),
    Kind(
        group="policy.karmada.io",
        kind="PropagationPolicy",
        plural="propagationpolicies",
        versions=(Version("v1alpha1", policy.PropagationPolicy, columns=_POLICY_COLUMNS, subresources=()),),
        short_names=("pp",),
    ),
    Kind(
        group="remedy.karmada.io",
        kind="Remedy",
        plural="remedies",
        versions=(Version("v1alpha1", remedy.Remedy),),
        namespaced=False,
    ),
    Kind(
        group="search.karmada.io",
        kind="ResourceRegistry",
        plural="resourceregistries",
        versions=(Version("v1alpha1", search.ResourceRegistry, subresources=_STATUS),),
        namespaced=False,
        categories=(),
        home=Home.AGGREGATED,
    ),
    Kind(
        group="work.karmada.io",
        kind="ClusterResourceBinding",
        plural="clusterresourcebindings",
        versions=(
            Version("v1alpha1", work_v1alpha1.ClusterResourceBinding, subresources=_STATUS, storage=False),
            Version("v1alpha2", work.ClusterResourceBinding, columns=_BINDING_COLUMNS, subresources=_STATUS),
        ),
        short_names=("crb",),
        namespaced=False,
    ),
    Kind(
        group="work.karmada.io",
        kind="ResourceBinding",
        plural="resourcebindings",
        versions=(
            Version("v1alpha1", work_v1alpha1.ResourceBinding, subresources=_STATUS, storage=False),
            Version("v1alpha2", work.ResourceBinding, columns=_BINDING_COLUMNS, subresources=_STATUS),
        ),
        short_names=("rb",),
    ),
    Kind(
        group="work.karmada.io",
        kind="Work",
        plural="works",
        versions=(
            Version(
                "v1alpha1",
                work_v1alpha1.Work,
                columns=(
                    Column("WORKLOAD-KIND", ".spec.workload.manifests[*].kind"),
                    _condition("APPLIED", "Applied"),
                    _AGE,
                ),
                subresources=_STATUS,
            ),
        ),
        short_names=("wk",),
    ),
)

BY_TYPE: Mapping[type[Struct], tuple[Kind, Version]] = {
    version.type: (kind, version) for kind in KINDS for version in kind.versions
}
"""From a struct to its kind and version."""

BY_NAME: Mapping[tuple[str, str], Kind] = {(kind.group, kind.kind): kind for kind in KINDS}
"""From (group, kind) to the entry."""
