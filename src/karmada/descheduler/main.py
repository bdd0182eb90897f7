"""karmada-descheduler as a program."""

from argparse import ArgumentParser
from collections.abc import Sequence

from karmada.descheduler.service import COMPONENT, Descheduler, DeschedulerOptions
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.scheduler.component import Process, add_leader_flags, common_flags, run_component, seconds
from karmada.scheduler.estimators.accurate import GrpcEstimator
from karmada.scheduler.main import add_estimator_flags, connections_of


def main(argv: Sequence[str] | None = None) -> int:
    """Run the descheduler; its exit code."""
    flags = parser().parse_args(argv)
    options = DeschedulerOptions(flags.descheduling_interval, flags.unschedulable_threshold)

    async def body(process: Process) -> None:
        informers = InformerFactory(process.client, process.supervisor)
        recorder = EventRecorder(process.client, COMPONENT)
        process.supervisor.start("events", recorder.run)
        connections = connections_of(flags)
        estimator = GrpcEstimator(connections)
        Descheduler(process.client, informers, recorder, estimator.unschedulable, options).start(process.supervisor)
        try:
            await process.supervisor.wait()
        finally:
            await connections.close()

    return run_component(flags, COMPONENT, body)


def parser() -> ArgumentParser:
    """The flags of the descheduler."""
    made = common_flags(COMPONENT, ":10358", "Takes replicas back from clusters that cannot run them.")
    add_leader_flags(made, COMPONENT)
    add_estimator_flags(made)
    add = made.add_argument
    add("--descheduling-interval", type=seconds, default=120.0, help="Time between two looks at all bindings.")
    add("--unschedulable-threshold", type=seconds, default=300.0, help="How long a pod may wait for a node.")
    return made
