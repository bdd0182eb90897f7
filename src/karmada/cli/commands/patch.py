"""`karmadactl patch`."""

from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.files import read_text
from karmada.cli.flags import Flag, Values, one_of
from karmada.cli.session import Session
from karmada.cli.writing import chosen, dry_run, print_outcome


async def run(session: Session, flags: Values) -> None:
    """Patch what was named."""
    from karmada.api import yaml
    from karmada.machinery.transport import PatchType

    if bool(flags.patch) == bool(flags.patch_file):
        raise CommandError("must specify exactly one of --patch and --patch-file")
    text = flags.patch or read_text(flags.patch_file)
    try:
        patch: Any = yaml.load(text)
    except yaml.YAMLError as error:
        raise CommandError(f"unable to parse {text!r}: {error}") from error
    if (flags.type == "json") != isinstance(patch, list):
        shape = "a list of operations" if flags.type == "json" else "an object"
        raise CommandError(f"a patch of type {flags.type} is {shape}")
    kind = {"json": PatchType.JSON, "merge": PatchType.MERGE, "strategic": PatchType.STRATEGIC}[flags.type]
    hub = session.hub(flags)
    dry = dry_run(flags)
    if flags.local:
        raise CommandError("--local is not supported: use --dry-run=server to see the result without storing it")
    for one in await chosen(hub, flags, flags.arguments):
        resource = one.resource(hub, flags)
        live = await resource.get(one.name, one.namespace)
        done = live
        if not dry.client:
            done = await resource.patch(
                one.name, patch, one.namespace, kind=kind, subresource=flags.subresource, dry_run=dry.server
            )
        same = done["metadata"].get("resourceVersion") == live["metadata"].get("resourceVersion") and not dry.suffix
        print_outcome(session, flags, one, "patched (no change)" if same else "patched", done)


COMMAND = Command(
    "patch",
    "(-f FILENAME | TYPE NAME) [-p PATCH|--patch-file FILE]",
    "Change fields of an object with a strategic merge patch, a JSON merge patch or a JSON patch.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        *common.FILES,
        *common.PRINTING,
        common.DRY_RUN,
        Flag("field-manager", "kubectl-patch", common.FIELD_MANAGER_HELP),
        Flag("local", False, "Not supported."),
        Flag("patch", "", "The patch, as JSON or YAML.", "p"),
        Flag("patch-file", "", "A file with the patch."),
        Flag("subresource", "", "The subresource to patch: status, scale."),
        Flag("type", "strategic", "strategic, merge or json.", check=one_of("", "strategic", "merge", "json")),
    ),
    examples="""karmadactl patch deployment nginx -p '{"spec":{"replicas":5}}'""",
)
