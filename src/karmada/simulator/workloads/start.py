"""Starts everything that makes workloads run."""

from karmada.simulator.workloads.attributes_class import AttributesClassController
from karmada.simulator.workloads.autoscaler import AutoscalerController
from karmada.simulator.workloads.budget import BudgetController
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.cronjob import CronJobController
from karmada.simulator.workloads.daemonset import DaemonSetController
from karmada.simulator.workloads.deployment import DeploymentController
from karmada.simulator.workloads.endpoints import EndpointController
from karmada.simulator.workloads.job import JobController
from karmada.simulator.workloads.kubelet import Kubelet
from karmada.simulator.workloads.load_balancer import LoadBalancerController
from karmada.simulator.workloads.node import NodeController
from karmada.simulator.workloads.quota import QuotaController
from karmada.simulator.workloads.replicaset import ReplicaSetController, ReplicationControllerController
from karmada.simulator.workloads.scheduling.scheduler import PodScheduler
from karmada.simulator.workloads.statefulset import StatefulSetController
from karmada.simulator.workloads.volume import VolumeController

CONTROLLERS = (
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
    StatefulSetController,
    DaemonSetController,
    JobController,
    CronJobController,
    PodScheduler,
    Kubelet,
    NodeController,
    EndpointController,
    LoadBalancerController,
    VolumeController,
    AttributesClassController,
    AutoscalerController,
    BudgetController,
    QuotaController,
)


def start(context: Workloads) -> None:
    """Start all controllers; each runs and is restarted on its own."""
    for controller in CONTROLLERS:
        controller(context)
