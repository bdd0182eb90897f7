"""`karmadactl simulate`: the scheduler's decision without its consequences."""

import asyncio
from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.files import read_objects, read_text
from karmada.cli.flags import Flag, Values, one_of
from karmada.cli.session import Session
from karmada.machinery.errors import NotFound

JSONObject = dict[str, Any]


async def run(session: Session, flags: Values) -> int:
    """Decide and show; the exit status is 1 where something could not be placed."""
    from karmada.api.cluster.v1alpha1 import Cluster
    from karmada.cli.simulate import outcome, world
    from karmada.scheduler.core.snapshot import Snapshot

    hub = session.hub(flags)
    added = [cluster for name in flags.cluster_file for cluster in world.read_clusters(read_text(name), name)]
    clusters = (await hub.client.of(Cluster).list()).items
    clusters = world.changed(clusters, flags.without_cluster, flags.taint, added)
    subjects = await _subjects(hub, flags)
    snapshot = Snapshot(clusters)
    outcomes = [outcome.outcome(one, clusters, snapshot) for one in subjects]
    match flags.output:
        case "json":
            import orjson

            session.print(orjson.dumps(outcome.data(outcomes), option=orjson.OPT_INDENT_2).decode())
        case "diff":
            session.out.write(outcome.diff(outcomes, session.colours))
        case _:
            session.out.write(outcome.table(outcomes))
    return 1 if any(one.refused for one in outcomes) else 0


async def _subjects(hub: Access, flags: Values) -> list[Any]:
    from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
    from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
    from karmada.cli.simulate.subjects import POLICY_KINDS, Policies, existing, subject, with_files
    from karmada.machinery.resource import Scope

    replicas = flags.replicas if "replicas" in flags.given else None
    namespace = flags.namespace or hub.target.namespace
    items = read_objects(flags) if flags.filename or flags.kustomize else []
    if not items and not flags.arguments:
        scope = Scope(flags.namespace)
        bindings, wide = await asyncio.gather(
            hub.client.of(ResourceBinding).list(scope), hub.client.of(ClusterResourceBinding).list()
        )
        return [existing(one, replicas) for one in (*bindings.items, *(() if flags.namespace else wide.items))]
    known, known_wide = await asyncio.gather(
        hub.client.of(PropagationPolicy).list(), hub.client.of(ClusterPropagationPolicy).list()
    )
    policies = with_files(Policies(known.items, known_wide.items), items, namespace)
    templates = [await _placed(hub, item, namespace) for item in items if _is_template(item)]
    for wanted in await hub.kinds.wanted(flags.arguments) if flags.arguments else ():
        found = hub.client.resource(wanted.kind.type)
        templates.append(await found.get(wanted.name, namespace if wanted.kind.namespaced else ""))
    named = {_identity(item) for item in templates}
    for item in await _chosen_by(hub, [item for item in items if item["kind"] in POLICY_KINDS], namespace):
        if _identity(item) not in named:
            templates.append(item)
            named.add(_identity(item))
    if not templates:
        raise CommandError("nothing to place: the files hold policies only, and they select nothing that exists")
    return [await subject(item, policies, await _binding(hub, item), replicas) for item in templates]


def _is_template(item: JSONObject) -> bool:
    """Karmada's own kinds are never propagated."""
    return not item["apiVersion"].partition("/")[0].endswith("karmada.io")


async def _placed(hub: Access, item: JSONObject, namespace: str) -> JSONObject:
    """A template of a file in its namespace."""
    kind = await hub.kinds.of(item["apiVersion"], item["kind"])
    if kind.namespaced and not item["metadata"].get("namespace"):
        return {**item, "metadata": {**item["metadata"], "namespace": namespace}}
    return item


async def _chosen_by(hub: Access, policies: list[JSONObject], namespace: str) -> list[JSONObject]:
    """Templates that exist and that policies of files choose."""
    from karmada.api.codec import from_tree
    from karmada.api.policy.v1alpha1 import ResourceSelector
    from karmada.machinery.resource import Scope
    from karmada.policies.matching import Match, match, subject_of

    found: dict[tuple[str, ...], JSONObject] = {}
    for policy in policies:
        own = policy["kind"] == "PropagationPolicy"
        where = policy["metadata"].get("namespace") or namespace
        for tree in (policy.get("spec") or {}).get("resourceSelectors") or ():
            selector = from_tree(
                {**tree, **({"namespace": tree.get("namespace") or where} if own else {})}, ResourceSelector
            )
            kind = await hub.kinds.of(selector.api_version, selector.kind)
            scope = Scope(selector.namespace if kind.namespaced else "")
            for item in (await hub.client.resource(kind.type).list(scope)).items:
                if match(selector, subject_of(item)) is not Match.NONE:
                    found[_identity(item)] = item
    return list(found.values())


def _identity(item: JSONObject) -> tuple[str, ...]:
    about = item["metadata"]
    return item["apiVersion"], item["kind"], about.get("namespace", ""), about["name"]


async def _binding(hub: Access, item: JSONObject) -> Any:
    from karmada.api import names
    from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding

    about = item["metadata"]
    name = names.binding_name(item["kind"], about["name"])
    try:
        if about.get("namespace"):
            return await hub.client.of(ResourceBinding).get(name, about["namespace"])
        return await hub.client.of(ClusterResourceBinding).get(name)
    except NotFound:
        return None


COMMAND = Command(
    "simulate",
    "[KIND/NAME...] [-f FILE...]",
    "Show what would be placed where, without writing anything.\n\n"
    "The scheduler's own rules decide, on the clusters of now with the changes asked for: clusters gone, tainted or\n"
    "added. Files hold templates and policies as they would be; without files and names, everything that is\n"
    "propagated is looked at. Estimators of members are not asked. Exits with 1 if something could not be placed.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        *common.FILES,
        Flag("without-cluster", [], "Clusters to leave out."),
        Flag("taint", [], "Taints to add, as CLUSTER:KEY=VALUE:EFFECT.", repeated=True),
        Flag("replicas", 0, "Replicas to place, in place of those the template wants."),
        Flag("cluster-file", [], "Files with Clusters to add or replace."),
        Flag("output", "table", "table, json or diff.", "o", check=one_of("", "table", "json", "diff")),
    ),
    examples="""
# Where would this go?
karmadactl simulate -f deployment.yaml -f policy.yaml
# What moves when member1 goes down, or for maintenance?
karmadactl simulate --without-cluster member1 -o diff
karmadactl simulate --taint member1:maintenance=true:NoExecute
""",
)
