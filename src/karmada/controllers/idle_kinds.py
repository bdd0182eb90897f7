"""Kinds of Karmada on which nothing acts in a control plane as it is configured, and why."""

from collections.abc import Collection

from karmada.api.feature_gates import FeatureGates
from karmada.controllers.registry import CONTROLLERS, Registration
from karmada.controllers.selection import Selection

ACTING = {
    ("apps.karmada.io", "workloadrebalancers"): "workloadRebalancer",
    ("autoscaling.karmada.io", "cronfederatedhpas"): "cronFederatedHorizontalPodAutoscaler",
    ("autoscaling.karmada.io", "federatedhpas"): "federatedHorizontalPodAutoscaler",
    ("multicluster.x-k8s.io", "serviceexports"): "serviceExport",
    ("multicluster.x-k8s.io", "serviceimports"): "serviceImport",
    ("networking.karmada.io", "multiclusterservices"): "multiclusterservice",
    ("policy.karmada.io", "clustertaintpolicies"): "clustertaintpolicy",
    ("remedy.karmada.io", "remedies"): "remedy",
}
"""The controller without which objects of a kind do nothing."""
NOBODY = {
    ("operator.karmada.io", "karmadas"): "karmada-operator acts on those of its host cluster only",
}
"""Kinds without a controller of the control plane."""
BESIDE = {
    ("networking.karmada.io", "multiclusteringresses"): ("gateway", "no karmada-gateway runs here: see --gateway-port"),
    ("search.karmada.io", "resourceregistries"): ("search", "search is off: see --enable-search"),
}
"""Kinds that a component beside the controllers acts on, and what is said where it does not run."""


def idle_kinds(selection: Selection, gates: FeatureGates, beside: Collection[str]) -> dict[tuple[str, str], str]:
    """By group and plural, why objects of a kind do nothing; `beside` are the components that run."""
    known = {registered.name: registered for registered in CONTROLLERS}
    found = {kind: _reason(known[name], selection, gates) for kind, name in ACTING.items()}
    absent = {kind: reason for kind, (component, reason) in BESIDE.items() if component not in beside}
    return {kind: reason for kind, reason in (found | NOBODY | absent).items() if reason}


def _reason(registered: Registration, selection: Selection, gates: FeatureGates) -> str:
    if registered.gate and not gates.enabled(registered.gate):
        return f"the feature gate {registered.gate} is off"
    if not registered.wanted(selection, gates):
        return f"--controllers turns the controller {registered.name} off"
    return ""
