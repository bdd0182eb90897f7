"""karmada-descheduler as a program."""

from collections.abc import Sequence

from karmada.descheduler.service import COMPONENT, Descheduler, DeschedulerOptions
from karmada.machinery.component import Process, component_flags, run_component
from karmada.machinery.events import EventRecorder
from karmada.machinery.flags import FlagParser, add_leader, seconds
from karmada.machinery.informers.factory import InformerFactory
from karmada.scheduler.estimators.accurate import GrpcEstimator
from karmada.scheduler.main import add_estimator_flags, connections_of


def main(argv: Sequence[str] | None = None) -> int:
    """Run the descheduler; its exit code."""
    flags = parser().parse(argv)
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


def parser() -> FlagParser:
    """The flags of the descheduler."""
    made = component_flags(COMPONENT, ":10358", "Takes replicas back from clusters that cannot run them.")
    add_leader(made, COMPONENT)
    add_estimator_flags(made)
    add = made.add_argument
    add("--descheduling-interval", type=seconds, default=120.0, help="Time between two looks at all bindings.")
    add("--unschedulable-threshold", type=seconds, default=300.0, help="How long a pod may wait for a node.")
    return made
