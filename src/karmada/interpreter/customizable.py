"""The whole interpreter: customised scripts, customised webhooks, Python plug-ins, bundled kinds, native kinds.

Whoever watches the customisations calls `configure` with all of them after every change; calls under way finish with
the old ones. Until the first `configure` there are none, so callers wait for that before they ask.
"""

from collections.abc import Callable, Iterable

from karmada.api.config.v1alpha1 import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.interpreter.customization import scripts_of
from karmada.interpreter.facade import LayeredInterpreter, Report, native_level, wall_clock
from karmada.interpreter.lua.level import LuaLevel
from karmada.interpreter.lua.pool import Limits, Pool
from karmada.interpreter.plugins import Plugins
from karmada.interpreter.rules_level import RulesLevel
from karmada.interpreter.thirdparty import bundled_rules
from karmada.interpreter.webhook import Post, WebhookLevel, hooks_of

NO_PLUGINS = Plugins({})


class CustomizableInterpreter(LayeredInterpreter):
    """All levels. `post` reaches webhooks; `report` is called with every failure."""

    def __init__(
        self,
        *,
        post: Post,
        gates: FeatureGates = DEFAULTS,
        now: Callable[[], str] = wall_clock,
        plugins: Plugins = NO_PLUGINS,
        limits: Limits | None = None,
        report: Report | None = None,
    ) -> None:
        with_priority = gates.enabled("ResourceQuotaEstimate")
        self._pool = Pool(limits, with_priority=with_priority)
        self._scripts = LuaLevel(self._pool, {})
        self._webhooks = WebhookLevel(post)
        python = RulesLevel("python plug-in", plugins.rules)
        bundled = RulesLevel("bundled", bundled_rules(now, with_priority=with_priority))
        super().__init__(self._scripts, self._webhooks, python, bundled, native_level(gates, now), report=report)

    def configure(
        self,
        customizations: Iterable[ResourceInterpreterCustomization],
        webhook_configurations: Iterable[ResourceInterpreterWebhookConfiguration],
    ) -> None:
        """Replace all customisations."""
        self._scripts.scripts = scripts_of(customizations)
        self._webhooks.hooks = hooks_of(webhook_configurations)

    async def close(self) -> None:
        """Stop the workers that run scripts."""
        await self._pool.close()
