"""What every controller of the control plane is given."""

from collections.abc import Callable
from dataclasses import dataclass, field

from karmada.api.feature_gates import FeatureGates
from karmada.controllers.detector.scope import PropagationScope, SkippedApis
from karmada.controllers.metrics import PipelineMetrics
from karmada.interpreter.model import Interpreter
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.workqueue.queue import RETRIES


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Workers per controller."""

    templates: int = 5
    policies: int = 1
    bindings: int = 5
    works: int = 5
    dependencies: int = 2
    clusters: int = 5
    namespaces: int = 1


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
