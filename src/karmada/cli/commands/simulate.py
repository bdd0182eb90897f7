"""`karmadactl simulate`: the scheduler's decision without its consequences."""

from typing import TYPE_CHECKING

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.files import find_objects, parse, read_text
from karmada.cli.flags import Flag, Values, one_of
from karmada.cli.kinds import NoMapping
from karmada.cli.session import Session
from karmada.cli.strict import check, mode
from karmada.cli.taints import EFFECTS

if TYPE_CHECKING:
    from karmada.api.cluster.v1alpha1 import Cluster
    from karmada.explain.simulate.subjects import Subject
    from karmada.explain.simulate.terms import Terms


async def run(session: Session, flags: Values) -> int:
    """Decide and show; the exit status is 1 where something could not be placed."""
    from karmada.api.cluster.v1alpha1 import Cluster
    from karmada.cli.output.simulation import diff, moves, table
    from karmada.explain.errors import ExplainError, NoSuchKind
    from karmada.explain.simulate.outcome import data, outcome
    from karmada.scheduler.core.snapshot import Snapshot

    if flags.replicas < 0:
        raise CommandError(f"--replicas {flags.replicas}: write 0 or more")
    hub = session.hub(flags)
    added = [cluster for name in flags.cluster_file for cluster in _clusters_of(read_text(name), name)]
    clusters = _changed((await hub.client.of(Cluster).list()).items, added, flags)
    try:
        terms = await _terms(hub, flags)
        subjects = await _subjects(hub, flags, terms)
    except NoSuchKind as error:
        raise NoMapping(str(error)) from None
    except ExplainError as error:
        raise CommandError(str(error)) from None
    snapshot = Snapshot(clusters)
    outcomes = [outcome(one, clusters, snapshot, terms) for one in subjects]
    match flags.output:
        case "json":
            import orjson

            session.print(orjson.dumps(data(outcomes, terms), option=orjson.OPT_INDENT_2).decode())
        case "diff":
            session.out.write(diff(outcomes, terms, session.colours))
        case _ if flags.cluster_down:
            session.out.write(moves(outcomes, terms, session.columns))
        case _:
            session.out.write(table(outcomes, terms, session.columns))
    return 1 if any(one.refused for one in outcomes) else 0


async def _terms(hub: Access, flags: Values) -> "Terms":
    """What the control plane runs under, with what flags say instead."""
    from karmada.api.feature_gates import FeatureGateError, parse
    from karmada.explain.simulate.terms import EVICTION, running

    try:
        gates = parse(flags.feature_gates) if "feature-gates" in flags.given else None
    except FeatureGateError as error:
        raise CommandError(f"--feature-gates: {error}") from None
    eviction = flags.enable_no_execute_taint_eviction if EVICTION in flags.given else None
    return (await running(hub.client)).changed(gates, eviction)


async def _subjects(hub: Access, flags: Values, terms: "Terms") -> "list[Subject]":
    from karmada.explain.simulate.gathering import all_subjects, subjects

    replicas = flags.replicas if "replicas" in flags.given else None
    namespace = flags.namespace or hub.target.namespace
    found = find_objects(flags) if flags.filename or flags.kustomize else []
    for one in found:
        if not (one.item.get("metadata") or {}).get("name"):
            raise CommandError(f"{one.place()}: a {one.item['kind']} has no name: set metadata.name")
    if mode(flags) == "Strict":
        await check(hub, found)
    items = [one.item for one in found]
    if not items and not flags.arguments:
        return await all_subjects(hub.client, flags.namespace, replicas)
    named = [
        await hub.client.resource(wanted.kind.type).get(wanted.name, namespace if wanted.kind.namespaced else "")
        for wanted in (await hub.kinds.wanted(flags.arguments) if flags.arguments else ())
    ]
    return await subjects(hub.client, items, named, namespace, replicas, terms.gates)


def _changed(clusters: "list[Cluster]", added: "list[Cluster]", flags: Values) -> "list[Cluster]":
    """The clusters after the changes that flags ask for."""
    from karmada.explain.errors import UnknownCluster
    from karmada.explain.simulate import world

    there = world.of(clusters, added)
    for flag, names in (("--without-cluster", flags.without_cluster), ("--cluster-down", flags.cluster_down)):
        try:
            there = world.without(there, names)
        except UnknownCluster as error:
            raise CommandError(f"{flag}: {error}") from None
    try:
        return list(world.tainted(there, [_taint(word) for word in flags.taint]).values())
    except UnknownCluster as error:
        raise CommandError(f"--taint: {error}") from None


def _taint(word: str) -> tuple[str, dict[str, str]]:
    """`member1:key=value:Effect`."""
    name, _, rest = word.partition(":")
    front, _, effect = rest.rpartition(":")
    key, _, value = front.partition("=")
    if not (name and key) or effect not in EFFECTS:
        raise CommandError(f"--taint {word}: write CLUSTER:KEY=VALUE:EFFECT, effects are {', '.join(EFFECTS)}")
    return name, {"key": key, "value": value, "effect": effect}


def _clusters_of(text: str, name: str) -> "list[Cluster]":
    """Clusters of a file."""
    from karmada.api.cluster.v1alpha1 import Cluster
    from karmada.api.codec import from_tree

    found = list(parse(text, name))
    wrong = next((item for item in found if item["kind"] != "Cluster"), None)
    if wrong is not None:
        raise CommandError(f"{name}: holds a {wrong['kind']}; --cluster-file takes Clusters")
    return [from_tree(item, Cluster) for item in found]


COMMAND = Command(
    "simulate",
    "[KIND/NAME...] [-f FILE...]",
    "Show what would be placed where, without writing anything.\n\n"
    "The scheduler's own rules decide, on the clusters of now with the changes asked for: clusters gone, tainted or\n"
    "added. Files hold templates and policies as they would be; without files and names, everything that is\n"
    "propagated is looked at. Feature gates and flags are those of the running control plane where it publishes them\n"
    "(karmada up does), else the defaults: the output says which. Objects of files get the control plane's defaults\n"
    "or are refused, as in a dry run. Estimators of members are not asked.\n"
    "Exits with 1 if something could not be placed.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        *common.FILES,
        common.VALIDATE,
        Flag("without-cluster", [], "Clusters to leave out."),
        Flag("cluster-down", [], "Clusters that fail: list what would leave them, lose replicas or have no room."),
        Flag("taint", [], "Taints to add, as CLUSTER:KEY=VALUE:EFFECT.", repeated=True),
        Flag("replicas", 0, "Replicas to place, in place of those the template wants."),
        Flag("feature-gates", "", "Feature gates to assume, as Failover=true, in place of the control plane's."),
        Flag("enable-no-execute-taint-eviction", False, "Assume that NoExecute taints evict, with the gate Failover."),
        Flag("cluster-file", [], "Files with Clusters to add or replace."),
        Flag("output", "table", "table, json or diff.", "o", check=one_of("", "table", "json", "diff")),
    ),
    examples="""
# Where would this go?
karmadactl simulate -f deployment.yaml -f policy.yaml
# What moves when member1 is taken out?
karmadactl simulate --without-cluster member1 -o diff
# What would happen if it failed and everything it runs were evicted?
karmadactl simulate --cluster-down member1
# What moves when it is tainted: nothing without the gate Failover; and with it?
karmadactl simulate --taint member1:maintenance=true:NoExecute
karmadactl simulate --taint member1:maintenance=true:NoExecute --feature-gates Failover=true \\
  --enable-no-execute-taint-eviction
""",
)
