"""The whole interpreter inside a control plane: customisations followed, webhooks reached, failures noted."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from karmada.api.feature_gates import FeatureGates
from karmada.controllers.customizations import CustomizationFailures, Customizations
from karmada.controllers.interpreter_webhooks import WebhookClient
from karmada.controllers.metrics import PipelineMetrics
from karmada.interpreter.customizable import CustomizableInterpreter
from karmada.interpreter.plugins import installed
from karmada.machinery.clock import Clock, rfc3339
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor

log = logging.getLogger(__name__)

COMPONENT = "resource-interpreter"


@asynccontextmanager
async def interpretation(
    informers: InformerFactory,
    supervisor: Supervisor,
    recorder: EventRecorder,
    gates: FeatureGates,
    clock: Clock,
    metrics: PipelineMetrics,
) -> AsyncIterator[CustomizableInterpreter]:
    """An interpreter that knows all customisations from the start."""
    plugins = installed()
    for problem in plugins.problems:
        log.warning("%s", problem)
    webhooks = WebhookClient()
    interpreter = CustomizableInterpreter(
        post=webhooks.post,
        gates=gates,
        now=lambda: rfc3339(clock.now()),
        plugins=plugins,
        report=CustomizationFailures(recorder, metrics.interpreter_failures).report,
    )
    customizations = Customizations(informers, interpreter)
    supervisor.start("customisations", customizations.run)
    try:
        await customizations.synced()
        yield interpreter
    finally:
        webhooks.close()
        await interpreter.close()
