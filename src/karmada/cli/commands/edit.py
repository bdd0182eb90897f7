"""`karmadactl edit`."""

import asyncio
import os
import shlex
import tempfile

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.files import read_text
from karmada.cli.flags import Flag, Values
from karmada.cli.output.objects import without_managed_fields
from karmada.cli.session import Session
from karmada.cli.writing import Named, chosen, print_outcome

HEADER = """# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
"""


async def run(session: Session, flags: Values) -> None:
    """Edit each object that was named."""
    hub = session.hub(flags)
    for one in await chosen(hub, flags, flags.arguments):
        await _edit(session, flags, one)


async def _edit(session: Session, flags: Values, one: Named) -> None:
    from karmada.api import strategic_diff, yaml
    from karmada.api.merge_patch import create_three_way
    from karmada.cli.openapi import merges, schema_of
    from karmada.machinery.errors import BadRequest, Conflict, Invalid
    from karmada.machinery.transport import PatchType

    hub = session.hub(flags)
    resource = one.resource(hub, flags)
    live = without_managed_fields(await resource.get(one.name, one.namespace))
    text, note = yaml.dump(live), ""
    while True:
        edited = await _in_editor(session, HEADER + note + text)
        body = "".join(line for line in edited.splitlines(keepends=True) if not line.startswith("#"))
        if not body.strip() or body.strip() == text.strip():
            session.print("Edit cancelled, no changes made.")
            return
        try:
            changed = yaml.load(body)
            if not isinstance(changed, dict):
                raise yaml.YAMLError("the object is gone")
            if flags.save_config:
                from karmada.api.client_apply import remember

                changed = remember(changed)
            schema = merges(await schema_of(hub.transport, one.kind), one.kind)
            if schema is not None:
                patch, kind = strategic_diff.create(live, changed, schema), PatchType.STRATEGIC
            else:
                patch, kind = create_three_way(live, changed, live), PatchType.MERGE
            if flags.output_patch:
                import orjson

                session.print(f"Patch: {orjson.dumps(patch).decode()}")
            done = await resource.patch(one.name, patch, one.namespace, kind=kind, subresource=flags.subresource)
        except (yaml.YAMLError, Invalid, BadRequest, Conflict) as error:
            if not session.stdin.isatty():
                raise
            note = "".join(f"# {line}\n" for line in str(error).splitlines()) + "#\n"
            text = body
            continue
        print_outcome(session, flags, one, "edited", done)
        return


async def _in_editor(session: Session, text: str) -> str:
    editor = session.environment.get("KUBE_EDITOR") or session.environment.get("EDITOR") or "vi"
    handle, name = tempfile.mkstemp(prefix="karmadactl-edit-", suffix=".yaml")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        process = await asyncio.create_subprocess_exec(*shlex.split(editor), name)
        if await process.wait():
            raise CommandError(f"there was a problem with the editor {editor!r}: set KUBE_EDITOR to one that works")
        return read_text(name)
    except FileNotFoundError:
        raise CommandError(f"unable to launch the editor {editor!r}: set KUBE_EDITOR to one that exists") from None
    finally:
        os.unlink(name)


COMMAND = Command(
    "edit",
    "(RESOURCE/NAME | -f FILENAME)",
    "Change an object of the control plane in the editor that KUBE_EDITOR or EDITOR names.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        *common.FILES,
        *common.PRINTING,
        common.VALIDATE,
        Flag("field-manager", "kubectl-edit", common.FIELD_MANAGER_HELP),
        Flag("output-patch", False, "Show the patch that is sent."),
        Flag("save-config", False, "Keep the object in its annotation for apply."),
        Flag("subresource", "", "The subresource to edit."),
        Flag("windows-line-endings", False, "Kept for scripts: lines end as everywhere else."),
    ),
    examples="karmadactl edit deployment/nginx",
)
