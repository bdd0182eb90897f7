"""`karmadactl api-resources`."""

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import aligned
from karmada.cli.reading import scoped
from karmada.cli.session import Session
from karmada.machinery.discovery import ApiResource


async def run(session: Session, flags: Values) -> None:
    """List kinds."""
    if flags.output not in ("", "wide", "name"):
        raise CommandError(f"--output {flags.output} is not available: use wide or name")
    if flags.sort_by not in ("", "name", "kind"):
        raise CommandError("--sort-by accepts only name or kind")
    access = await scoped(session, flags)
    kinds = [kind for kind in preferred(await access.kinds.all()) if _chosen(kind, flags)]
    kinds.sort(key=lambda kind: kind.kind if flags.sort_by == "kind" else kind.type.resource)
    if flags.sort_by == "":
        kinds.sort(key=lambda kind: (kind.type.group, kind.type.resource))
    if flags.output == "name":
        for kind in kinds:
            session.print(".".join(part for part in (kind.type.resource, kind.type.group) if part))
        return
    rows = [_row(kind, flags.output == "wide") for kind in kinds]
    header = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    if not flags.no_headers:
        rows.insert(0, header + ["VERBS", "CATEGORIES"] * (flags.output == "wide"))
    session.out.write(aligned(rows))


def preferred(kinds: list[ApiResource]) -> list[ApiResource]:
    """Each kind once, in the first version that has it."""
    seen: dict[tuple[str, str], ApiResource] = {}
    for kind in kinds:
        seen.setdefault((kind.type.group, kind.type.resource), kind)
    return list(seen.values())


def _chosen(kind: ApiResource, flags: Values) -> bool:
    if "api-group" in flags.given and kind.type.group != flags.api_group:
        return False
    if "namespaced" in flags.given and kind.namespaced != flags.namespaced:
        return False
    if not set(flags.categories) <= set(kind.categories):
        return False
    return set(flags.verbs) <= kind.verbs


def _row(kind: ApiResource, wide: bool) -> list[str]:
    row = [kind.type.resource, ",".join(kind.short_names), kind.api_version, str(kind.namespaced).lower(), kind.kind]
    return row + [",".join(sorted(kind.verbs)), ",".join(kind.categories)] * wide


COMMAND = Command(
    "api-resources",
    "",
    "List the kinds a server has: the control plane's, or with -s members --cluster NAME those of a member.",
    run,
    (
        *common.CONNECTION,
        common.operation_scope("karmada", "members"),
        common.cluster_flag(),
        Flag("api-group", "", "Only kinds of this group."),
        Flag("cached", False, "Kept for scripts: nothing is cached between runs."),
        Flag("categories", [], "Only kinds of these categories."),
        Flag("namespaced", True, "Only kinds that are (or, when false, are not) in namespaces."),
        Flag("no-headers", False, "Leave out the line of headers."),
        Flag("output", "", "wide or name.", "o"),
        common.SHOW_MANAGED,
        Flag("sort-by", "", "name or kind."),
        Flag("verbs", [], "Only kinds that support these verbs."),
    ),
    examples="""
karmadactl api-resources --api-group=policy.karmada.io
karmadactl api-resources -s members --cluster member1
""",
)
