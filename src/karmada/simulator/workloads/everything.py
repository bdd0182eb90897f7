"""Starts everything that makes workloads run."""

from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.deployment import DeploymentController
from karmada.simulator.workloads.endpoints import EndpointController
from karmada.simulator.workloads.job import JobController
from karmada.simulator.workloads.kubelet import Kubelet
from karmada.simulator.workloads.node import NodeController
from karmada.simulator.workloads.replicaset import ReplicaSetController
from karmada.simulator.workloads.scheduling.scheduler import PodScheduler

CONTROLLERS = (
    DeploymentController,
    ReplicaSetController,
    JobController,
    PodScheduler,
    Kubelet,
    NodeController,
    EndpointController,
)


def start(context: Workloads) -> None:
    """Start all controllers; each runs and is restarted on its own."""
    for controller in CONTROLLERS:
        controller(context)
