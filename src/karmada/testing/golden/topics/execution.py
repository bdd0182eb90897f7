"""Topic `execution`: from bindings to Works to members."""

import asyncio
from typing import Any

import orjson

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree, to_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.meta import ObjectMeta
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.interpreter.facade import native_interpreter
from karmada.interpreter.model import InterpretError, Operation, kind_of
from karmada.overrides.errors import OverrideError
from karmada.testing.golden.bare import bare
from karmada.testing.golden.case import Topic
from karmada.testing.golden.compare import first_difference
from karmada.works.build import Draft, Overrides, WorkBuilder, targets
from karmada.works.member import NotOurs, is_unchanged, merge_observed, require_ours

JSONObject = dict[str, Any]


def _update(given: JSONObject) -> JSONObject:
    desired, observed = given["desired"], given["observed"]
    interpreter = native_interpreter()
    try:
        require_ours(desired, observed, "member1")
        merge_observed(desired, observed)
        if interpreter.enabled(kind_of(desired), Operation.RETAIN):
            desired = asyncio.run(interpreter.retain(desired, observed))
    except (NotOurs, InterpretError) as error:
        return {"error": str(error), "operationResult": "none"}
    if is_unchanged(desired, observed):
        return {"operationResult": "none", "left": observed}
    return {"operationResult": "updated", "sent": desired}


def _work(given: JSONObject) -> JSONObject:
    draft = Draft(
        from_tree(given["workMeta"], ObjectMeta),
        given["object"],
        given.get("suspendDispatching"),
        given.get("preserveResourcesOnDeletion"),
    )
    existing = given.get("existingWork")
    return {"works": [_comparable(draft.merged(from_tree(existing, Work) if existing else None))]}


def _binding(given: JSONObject) -> JSONObject:
    binding: ResourceBinding | ClusterResourceBinding
    if "binding" in given:
        binding = from_tree(given["binding"], ResourceBinding)
    else:
        binding = from_tree(given["clusterBinding"], ClusterResourceBinding)
    template = given["object"]
    namespace = template["metadata"].get("namespace")
    overrides = Overrides(
        [from_tree(item, ClusterOverridePolicy) for item in given.get("clusterOverridePolicies") or []],
        [
            from_tree(item, OverridePolicy)
            for item in given.get("overridePolicies") or []
            if item["metadata"].get("namespace") == namespace
        ],
    )
    gates = FeatureGates().with_overrides(given.get("featureGates") or {})
    interpreter = native_interpreter(gates)
    builder = WorkBuilder(binding, template, overrides, gates)
    clusters = {item["metadata"]["name"]: from_tree(item, Cluster) for item in given.get("clusters") or []}
    body = orjson.dumps(template)
    works = []
    errors = []
    for target in targets(binding.spec):
        cluster = clusters.get(target.name)
        if cluster is None:
            errors.append(f'clusters.cluster.karmada.io "{target.name}" not found')
            continue
        made = orjson.loads(body)
        replicas = builder.replicas(target, cluster)
        if replicas is not None and interpreter.enabled(kind_of(made), Operation.REVISE):
            made = asyncio.run(interpreter.revise(made, replicas))
        try:
            works.append(_comparable(builder.build(made, target, cluster).merged(None)))
        except OverrideError as error:
            errors.append(str(error))
    works.sort(key=lambda work: (work["metadata"]["namespace"], work["metadata"]["name"]))
    return {"works": works, "error": "; ".join(errors)} if errors else {"works": works}


def _comparable(work: Work) -> JSONObject:
    tree = to_tree(work)
    return {"metadata": tree["metadata"], "spec": tree["spec"], "status": tree.get("status", {})}


def _compare(expected: Any, actual: Any) -> str | None:
    """Texts of failures are the patch library's own. A write of the reference is left out here only where what it sent
    is what was there already."""
    if "error" in expected and "error" in actual:
        expected, actual = {**expected, "error": ""}, {**actual, "error": ""}
    left = actual.pop("left", None)
    if "sent" in expected and left is not None:
        return first_difference(bare(_unborn(expected["sent"])), bare(_unborn(left)))
    if "sent" in expected:
        return first_difference(bare(expected), bare(actual))
    return first_difference(expected, actual)


_KEPT = ("creationTimestamp", "generation", "managedFields", "selfLink", "uid")


def _unborn(tree: JSONObject) -> JSONObject:
    """Without what API servers keep whatever is sent."""
    metadata = {name: part for name, part in tree["metadata"].items() if name not in _KEPT}
    return {name: part for name, part in tree.items() if name != "status"} | {"metadata": metadata}


TOPIC = Topic(
    "execution",
    {
        "execution.Update": _update,
        "execution.CreateOrUpdateWork": _work,
        "execution.BindingToWorks": _binding,
    },
    compare=_compare,
)
