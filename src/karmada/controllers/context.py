"""What every controller of the control plane is given."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from karmada.api.feature_gates import FeatureGates
from karmada.controllers.created_works import CreatedWorks
from karmada.controllers.detector.backlog import TemplateBacklog
from karmada.controllers.detector.scope import PropagationScope, SkippedApis
from karmada.controllers.metrics import PipelineMetrics
from karmada.interpreter.model import Interpreter
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.options import flag
from karmada.machinery.tracing import OFF, Tracer
from karmada.machinery.workqueue.queue import RETRIES


def _workers(default: int, *kinds: str) -> Any:
    names = (f"--concurrent-{kind}-syncs" for kind in kinds)
    return flag(default, int, f"Workers that reconcile objects of {' and '.join(kinds)}.", *names)


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Workers per controller. One with two flags serves namespaced and cluster-scoped objects with the same workers."""

    templates: int = _workers(5, "resource-template")
    policies: int = _workers(1, "propagation-policy", "cluster-propagation-policy")
    bindings: int = _workers(5, "resourcebinding", "clusterresourcebinding")
    works: int = _workers(5, "work")
    dependencies: int = _workers(2, "dependent-resource")
    clusters: int = _workers(5, "cluster")
    namespaces: int = _workers(1, "namespace")


@dataclass(frozen=True, slots=True)
class Context:
    """Shared by all controllers of a process; nothing in it is specific to one of them."""

    client: Client
    informers: InformerFactory
    recorder: Callable[[str], EventRecorder]
    """The event recorder of a component."""
    gates: FeatureGates
    interpreter: Interpreter
    clock: Clock
    scope: PropagationScope = field(default_factory=lambda: PropagationScope(SkippedApis()))
    concurrency: Concurrency = Concurrency()
    metrics: PipelineMetrics = field(default_factory=PipelineMetrics)
    retries: BackoffPolicy = RETRIES
    """How long Works wait after a failure."""
    tracer: Tracer = OFF
    backlog: TemplateBacklog | None = None
    """Where the detector counts what waits for it, if somebody wants to know."""
    created_works: CreatedWorks = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "created_works", CreatedWorks(self.clock))
