"""Who may reach optional components: in the chart, and beside a control plane of `karmadactl init`."""

from typing import Any

import kubernetes_validate
import pytest

from karmada.install.chart import default_values, merge, render
from karmada.install.manifests import Installation, components, reachable
from karmada.install.parts import OPTIONAL, component

KUBERNETES = "1.36"
SERVER = "karmada-apiserver"
CALLERS: dict[str, tuple[int, list[str] | None]] = {
    "karmada-dashboard": (8443, None),
    "karmada-descheduler": (10358, []),
    "karmada-metrics-adapter": (4443, [SERVER]),
    "karmada-search": (4443, [SERVER]),
}
"""The port of each, and who may reach it; None: everybody."""


def callers(policy: dict[str, Any], port: int) -> list[str] | None:
    """Who may reach a port, by any label."""
    found: list[str] = []
    for rule in policy["spec"]["ingress"]:
        if port in [one["port"] for one in rule["ports"]]:
            if "from" not in rule:
                return None
            found += [value for one in rule["from"] for value in one["podSelector"]["matchLabels"].values()]
    return found


@pytest.mark.parametrize("name", CALLERS)
def test_the_chart_lets_an_optional_component_be_reached_by_its_callers_only(name: str) -> None:
    values = {"networkPolicies": True, "components": {name: {"enabled": True}}}
    objects = render(merge(default_values(), values))
    (policy,) = [one for one in objects if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == name]
    kubernetes_validate.validate(policy, KUBERNETES, strict=True)
    port, allowed = CALLERS[name]
    assert callers(policy, port) == allowed
    assert callers(policy, 8080) is None
    (workload,) = [one for one in objects if one["kind"] == "Deployment" and one["metadata"]["name"] == name]
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize("name", OPTIONAL)
def test_so_does_the_installer(name: str) -> None:
    wanted = Installation("karmada-system", components=[component(name, 1, "")])
    objects = [*components(wanted, called=True), *components(wanted, called=False)]
    (policy,) = [one for one in objects if one["kind"] == "NetworkPolicy"]
    kubernetes_validate.validate(policy, KUBERNETES, strict=True)
    port, allowed = CALLERS[name]
    assert callers(policy, port) == allowed


def test_what_has_no_port_is_reached_for_its_metrics_only() -> None:
    policy = reachable("karmada-system", "karmada-descheduler")
    kubernetes_validate.validate(policy, KUBERNETES, strict=True)
    assert policy["spec"]["ingress"] == [{"ports": [{"port": 8080, "protocol": "TCP"}]}]
