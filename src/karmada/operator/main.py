"""karmada-operator as a program: works in the host cluster, as the account of its pod or as a kubeconfig says."""

import os
import sys
from collections.abc import Sequence

from karmada.api.version import IMAGE, IMAGE_VARIABLE
from karmada.machinery.client import Client
from karmada.machinery.component import Process, component_flags, run_component
from karmada.machinery.events import EventRecorder
from karmada.machinery.flags import FlagParser, add_accepted, add_leader
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.factory import InformerFactory
from karmada.operator.controller import Operator

PROGRAM = "karmada-operator"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the operator; its exit code."""
    flags = parser().parse(argv)
    image = flags.image or os.environ.get(IMAGE_VARIABLE) or IMAGE

    async def body(process: Process) -> None:
        def opened(config: bytes) -> Client:
            transport = HttpTransport(from_bytes(config).target(), agent=PROGRAM)
            return Client(process.fence(transport), field_manager=PROGRAM)

        informers = InformerFactory(process.client, process.supervisor)
        recorder = EventRecorder(process.client, PROGRAM)
        process.supervisor.start("events", recorder.run)
        operator = Operator(process.client, informers, recorder, opened, image)
        process.supervisor.start(operator.controller.name, operator.controller.run)
        await process.supervisor.wait()

    return run_component(flags, PROGRAM, body)


def parser() -> FlagParser:
    """The flags of the operator."""
    made = component_flags(PROGRAM, ":10359", "Installs and keeps the control planes that Karmada objects describe.")
    add_leader(made, PROGRAM)
    made.add_argument("--image", default="", help=f"Image with our programs; ${IMAGE_VARIABLE} or {IMAGE} if absent.")
    add_accepted(made, ("concurrent-karmada-syncs", "resync-period"))
    return made


if __name__ == "__main__":
    sys.exit(main())
