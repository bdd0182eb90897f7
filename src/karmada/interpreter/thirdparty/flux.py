"""Flux: sources, HelmRelease and Kustomization."""

from collections.abc import Callable, Sequence
from typing import Any

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.model import InterpretError, JSONObject, KindRules
from karmada.interpreter.thirdparty import merge, pods, rules
from karmada.interpreter.thirdparty.merge import KEPT, Reports, Rule, aggregation, last, last_filled, total
from karmada.interpreter.thirdparty.values import entries, get

_COMMON = {"conditions": merge.named_conditions, "observedGeneration": merge.observed_generation}
_FROM = ("Secret", "ConfigMap")


def _references(*paths: tuple[str, str]) -> Callable[[JSONObject], Sequence[DependentObjectReference]]:
    return lambda resource: pods.references(resource, paths, _spec(resource))


def _spec(resource: JSONObject) -> Any:
    spec = resource.get("spec")
    if spec is None:
        raise InterpretError("the spec is missing")
    get(spec, "")
    return spec


def _release_dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    """Besides those at fixed places the objects that its values come from."""
    sources = entries(get(_spec(resource), "valuesFrom"))
    values = [(source["kind"], get(source, "name")) for source in sources if get(source, "kind") in _FROM]
    return (*pods.named(resource, values), *_references(*_RELEASE_REFERENCES)(resource))


_RELEASE_REFERENCES = (
    ("Secret", "chart/spec/verify/secretRef/name!"),
    ("Secret", "kubeConfig/secretRef/name!"),
    ("ServiceAccount", "serviceAccountName"),
)


def _failures(reports: Reports, field: str) -> Any:
    """The sum of what the clusters count; what the template has is from the last time and counts only without them."""
    return total(reports, field) if reports.values(field) else reports.present.get(field)


def _kind(
    reasons: Sequence[str], table: dict[str, Rule], reported: Sequence[str], *paths: tuple[str, str]
) -> KindRules:
    """The table has the merged fields, `reported` those that are only reported."""
    return KindRules(
        retain=rules.retain(rules.SUSPENDED),
        reflect=rules.reflect(*table, *_COMMON, *reported, generations=True),
        aggregate=aggregation({**table, **_COMMON}),
        health=rules.ready(*reasons),
        dependencies=_references(*paths),
    )


_SECRET = ("Secret", "secretRef/name!")
_VERIFIED = ("Secret", "verify/secretRef/name!")
_URL = {"artifact": last(), "url": last_filled("")}

BUCKET = _kind(["Succeeded"], _URL, ["observedIgnore"], _SECRET)
GIT_REPOSITORY = _kind(
    ["Succeeded"], {"artifact": last()}, ["observedIgnore", "observedRecurseSubmodules"], _SECRET, _VERIFIED
)
HELM_REPOSITORY = _kind(["Succeeded"], _URL, [], _SECRET)
HELM_CHART = _kind(
    ["Succeeded", "ChartPullSucceeded"],
    {**_URL, **dict.fromkeys(("observedChartName", "observedSourceArtifactRevision"), last_filled(""))},
    [],
    _VERIFIED,
)
OCI_REPOSITORY = _kind(
    ["Succeeded"],
    _URL,
    ["observedIgnore", "observedLayerSelector"],
    _SECRET,
    _VERIFIED,
    ("Secret", "certSecretRef/name!"),
    ("ServiceAccount", "serviceAccountName"),
)
KUSTOMIZATION = _kind(
    ["ReconciliationSucceeded"],
    dict.fromkeys(("lastAttemptedRevision", "lastAppliedRevision"), last_filled(KEPT)),
    [],
    ("Secret", "decryption/secretRef/name!"),
    ("Secret", "kubeConfig/secretRef/name!"),
    ("ServiceAccount", "serviceAccountName"),
)
_RELEASED = ("lastAttemptedRevision", "lastAppliedRevision", "lastAttemptedValuesChecksum", "helmChart")
_RELEASE = {
    **dict.fromkeys(_RELEASED, last_filled(KEPT)),
    "lastReleaseRevision": last(KEPT),
    **dict.fromkeys(("failures", "upgradeFailures", "installFailures"), _failures),
}
HELM_RELEASE = KindRules(
    retain=rules.retain(rules.SUSPENDED),
    reflect=rules.reflect(*_RELEASE, *_COMMON, generations=True),
    aggregate=aggregation({**_RELEASE, **_COMMON}),
    health=rules.ready("ReconciliationSucceeded"),
    dependencies=_release_dependencies,
)
