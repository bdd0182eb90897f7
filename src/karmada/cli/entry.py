"""Console scripts. Each imports only the program it starts: start-up time is part of the interface."""

from collections.abc import Callable
from functools import wraps

from karmada.cli.failures import INTERRUPTED
from karmada.machinery.extras import require


def _interruptible(program: Callable[[], int]) -> Callable[[], int]:
    """A program that Ctrl-C ends without a traceback, even while its modules are still being loaded."""

    @wraps(program)
    def run() -> int:
        try:
            return program()
        except KeyboardInterrupt:
            return INTERRUPTED

    return run


@_interruptible
def karmada() -> int:
    """`karmada up`, `karmada demo` and friends."""
    from karmada.standalone.main import main

    return main()


@_interruptible
def karmadactl() -> int:
    """The command line of operators."""
    from karmada.cli.main import main

    return main()


@_interruptible
def kubectl_karmada() -> int:
    """The same as a kubectl plugin."""
    from karmada.cli.main import main

    return main(program="kubectl karmada")


def kubectl_complete() -> int:
    """`kubectl_complete-karmada`: what kubectl runs to complete `kubectl karmada ...`."""
    from karmada.cli.main import complete_for_kubectl

    return complete_for_kubectl()


def agent() -> int:
    """karmada-agent."""
    from karmada.agent.main import main

    return main()


def aggregated_apiserver() -> int:
    """karmada-aggregated-apiserver."""
    require("karmada-aggregated-apiserver", "grpc", "google.protobuf")
    from karmada.aggregated.main import main

    return main()


def apiserver() -> int:
    """karmada-apiserver."""
    from karmada.apiserver.main import main

    return main()


def controller_manager() -> int:
    """karmada-controller-manager."""
    from karmada.controllers.main import main

    return main()


def dashboard() -> int:
    """karmada-dashboard."""
    from karmada.dashboard.main import main

    return main()


def descheduler() -> int:
    """karmada-descheduler."""
    require("karmada-descheduler", "grpc")
    from karmada.descheduler.main import main

    return main()


def gateway() -> int:
    """karmada-gateway."""
    from karmada.gateway.main import main

    return main()


def metrics_adapter() -> int:
    """karmada-metrics-adapter."""
    from karmada.metrics_adapter.main import main

    return main()


def operator() -> int:
    """karmada-operator."""
    from karmada.operator.main import main

    return main()


def scheduler() -> int:
    """karmada-scheduler."""
    from karmada.scheduler.main import main

    return main()


def scheduler_estimator() -> int:
    """karmada-scheduler-estimator."""
    require("karmada-scheduler-estimator", "grpc")
    from karmada.estimator.main import main

    return main()


def search() -> int:
    """karmada-search."""
    from karmada.standalone.search_main import main

    return main()


def webhook() -> int:
    """karmada-webhook."""
    from karmada.webhook.main import main

    return main()
