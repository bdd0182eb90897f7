"""`karmadactl apply`."""

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.flags import Flag, Values
from karmada.cli.kinds import NoMapping
from karmada.cli.reading import chosen_clusters
from karmada.cli.session import Session
from karmada.cli.writing import Named, checked, from_files, in_place, print_outcome, refused


async def run(session: Session, flags: Values) -> int:
    """Apply files; with clusters, propagate what is in them. What fails does not keep the rest from being applied."""
    from karmada.cli.applying import apply, policy_for
    from karmada.cli.pruning import check, prune
    from karmada.machinery.errors import ApiError

    check(flags)
    hub = session.hub(flags)
    clusters: list[str] = []
    if flags.cluster or flags.all_clusters:
        clusters = await chosen_clusters(hub, [] if flags.all_clusters else flags.cluster)
    unknown: list[NoMapping] = []
    wanted = await checked(hub, flags, await from_files(hub, flags, unknown))
    if flags.selector:
        wanted = [one for one in wanted if _selected(one, flags.selector)]
    failed = bool(unknown)
    kept: set[str] = set()
    for one in wanted:
        try:
            done, word = await apply(hub, flags, one)
            kept.add(str(done["metadata"].get("uid", "")))
            print_outcome(session, flags, one, word, done)
            if clusters:
                assert one.given is not None
                policy = await in_place(hub, flags, policy_for(one.given, clusters))
                done, word = await apply(hub, flags, policy)
                print_outcome(session, flags, policy, word, done)
        except ApiError as error:
            if not error.status:
                raise
            failed = True
            await refused(session, hub, one, error, "applying")
    for each in unknown:
        session.warn(f"error: {each}")
    if flags.prune and not failed:
        await prune(session, flags, {one.namespace for one in wanted if one.namespace}, kept)
    return int(failed)


def _selected(one: Named, selector: str) -> bool:
    from karmada.api.label_selector import parse

    assert one.given is not None
    return parse(selector).matches(one.given["metadata"].get("labels") or {})


COMMAND = Command(
    "apply",
    "(-f FILENAME | -k DIRECTORY)",
    "Apply files to the control plane; objects are created or brought to the state given.\n\n"
    "With -C or --all-clusters everything in the files is also propagated: each object gets a policy of its own that\n"
    "names the clusters.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        *common.FILES,
        *common.PRINTING,
        common.DRY_RUN,
        common.SELECTOR,
        common.VALIDATE,
        Flag("all", False, "With --prune: consider all objects."),
        Flag("all-clusters", False, "Propagate to all clusters."),
        Flag("cluster", [], "Clusters to propagate to.", "C"),
        Flag("cascade", "background", "With --force: what becomes of dependents.", bare="background"),
        Flag("field-manager", "kubectl-client-side-apply", common.FIELD_MANAGER_HELP),
        Flag("force", False, "Delete and create again what cannot be changed."),
        Flag("force-conflicts", False, "With --server-side: take fields over from other managers."),
        Flag("grace-period", -1, "With --force: seconds that pods get to end."),
        Flag("openapi-patch", True, "Kept for scripts: lists are merged as the server's schema says."),
        Flag("overwrite", True, "Resolve conflicts between the live and the given object in favour of the given one."),
        Flag("prune", False, "Delete what was applied before and is not in the files: with -l or --all."),
        Flag("prune-allowlist", [], "With --prune: kinds to consider, as group/version/kind.", repeated=True),
        Flag("server-side", False, "Let the server merge (server-side apply)."),
        Flag("subresource", "", "Apply to a subresource."),
        common.waiting("timeout", 0.0, "How long to wait."),
        Flag("wait", False, "With --prune or --force: wait until what is deleted is gone."),
    ),
    examples="""
karmadactl apply -f deployment.yaml
karmadactl apply -f deployment.yaml --all-clusters
karmadactl apply -f deployment.yaml -C member1,member2
""",
    files_only=True,
)
