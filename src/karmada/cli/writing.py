"""Writes that several commands do: which objects, whether for real, and how it is printed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from karmada.cli.access import Access
from karmada.cli.failures import CommandError
from karmada.cli.files import Found, find_objects
from karmada.cli.flags import Values
from karmada.cli.kinds import NoMapping, Wanted
from karmada.cli.output.objects import renderer
from karmada.cli.output.tables import spelled_kind
from karmada.cli.reading import Look, namespace_of, objects
from karmada.cli.session import Session
from karmada.cli.strict import check, complaints, is_about_fields, mode
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import ApiError
from karmada.machinery.resource import Resource
from karmada.machinery.transport import GroupVersionResource

JSONObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Named:
    """One object of a kind."""

    kind: ApiResource
    namespace: str
    name: str
    given: JSONObject | None = None
    """As a file has it."""
    found: Found | None = None
    """Where the file has it."""

    @property
    def spelled(self) -> str:
        """`deployment.apps/shop`."""
        return f"{spelled_kind(self.kind)}/{self.name}"

    def resource(self, access: Access, flags: Values) -> Resource[JSONObject]:
        """The collection it is in."""
        return writer(access, self.kind.type, flags)


def writer(access: Access, type_: GroupVersionResource, flags: Values) -> Resource[JSONObject]:
    """A collection, written to under the field manager and as strictly as the flags say."""
    import dataclasses

    found = access.client.resource(type_)
    manager = getattr(flags, "field_manager", "") or found.field_manager
    return dataclasses.replace(found, field_manager=manager, field_validation=mode(flags))


async def from_files(access: Access, flags: Values, unknown: list[NoMapping] | None = None) -> list[Named]:
    """The objects of `-f`, in the namespaces they belong to; those of no known kind go into `unknown`, if it is given.

    So a file may hold a CustomResourceDefinition and objects of its kind: the first time makes the kind.
    """
    import dataclasses

    named: list[Named] = []
    for found in find_objects(flags):
        try:
            named.append(dataclasses.replace(await in_place(access, flags, found.item), found=found))
        except NoMapping as error:
            about = found.item.get("metadata") or {}
            which = (
                f' for name: "{about.get("name", "")}" namespace: "{about.get("namespace", "")}" from "{found.file}"'
            )
            unmapped = NoMapping(error.reason, which)
            if unknown is None:
                raise unmapped from None
            unknown.append(unmapped)
    return named


async def checked(access: Access, flags: Values, named: list[Named]) -> list[Named]:
    """The objects; those that are not sent to the server (`--dry-run=client`) are held against its schemas here."""
    if dry_run(flags).client and mode(flags) == "Strict":
        await check(access, [one.found for one in named if one.found is not None])
    return named


async def refused(session: Session, access: Access, named: Named, error: ApiError, doing: str) -> None:
    """Say why a server refused an object, of which file, and where the file has the fields that it refused."""
    from karmada.cli.errors import api_error

    session.warn(api_error(error, f'error when {doing} "{named.found.file}": ' if named.found is not None else ""))
    if named.found is not None and is_about_fields(error.message):
        for line in await complaints(access.transport, named.kind, named.found):
            session.warn(f"  {line}")


async def in_place(access: Access, flags: Values, item: JSONObject) -> Named:
    """An object in its own namespace, or in the one of the flags."""
    kind = await access.kinds.of(item["apiVersion"], item["kind"])
    about = item.get("metadata") or {}
    if not about.get("name") and not about.get("generateName"):
        raise CommandError(f"a {item['kind']} has no name: set metadata.name")
    if not kind.namespaced:
        return Named(kind, "", str(about.get("name", "")), item)
    declared = about.get("namespace")
    if declared and flags.namespace and declared != flags.namespace:
        raise CommandError(
            f'the namespace from the provided object "{declared}" does not match the namespace "{flags.namespace}". '
            f"You must pass '--namespace={declared}' to perform this operation."
        )
    namespace = str(declared or flags.namespace or access.target.namespace)
    return Named(kind, namespace, str(about.get("name", "")), {**item, "metadata": {**about, "namespace": namespace}})


async def from_arguments(access: Access, flags: Values, words: list[str]) -> list[Named]:
    """The objects that arguments name; a kind without names means those of a selector, or all where that is asked."""
    found: list[Named] = []
    for wanted in await access.kinds.wanted(words):
        if wanted.name:
            found.append(Named(wanted.kind, namespace_of(access, flags, wanted.kind), wanted.name))
            continue
        labels, fields = getattr(flags, "selector", ""), getattr(flags, "field_selector", "")
        if not labels and not fields and not getattr(flags, "all", False):
            raise CommandError("resource(s) were provided, but no name was specified")
        look = Look(namespace_of(access, flags, wanted.kind), labels, fields)
        for item in await objects(access, Wanted(wanted.kind), look):
            about = item["metadata"]
            found.append(Named(wanted.kind, about.get("namespace", ""), about["name"]))
    return found


def refuse_beside_files(words: Sequence[str]) -> None:
    """Refuse arguments beside files, such as all but the first that a shell makes of `-f *.yaml`."""
    if words:
        raise CommandError(
            "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well "
            f"({', '.join(words)}): write -f before each file"
        )


async def chosen(access: Access, flags: Values, words: list[str]) -> list[Named]:
    """From files or from arguments."""
    if flags.filename or flags.kustomize:
        refuse_beside_files(words)
        return await from_files(access, flags)
    return await from_arguments(access, flags, words)


@dataclass(frozen=True, slots=True)
class DryRun:
    """Whether something is written, and the words that say so."""

    client: bool = False
    server: bool = False

    @property
    def suffix(self) -> str:
        """What follows a line."""
        return " (dry run)" if self.client else " (server dry run)" if self.server else ""


def dry_run(flags: Values) -> DryRun:
    """What `--dry-run` asks for."""
    return DryRun(flags.dry_run in ("client", "unchanged"), flags.dry_run == "server")


def print_outcome(session: Session, flags: Values, named: Named, word: str, item: JSONObject) -> None:
    """Say what happened to an object, or print it."""
    render = renderer(flags)
    if render is None or flags.output == "name":
        suffix = dry_run(flags).suffix if hasattr(flags, "dry_run") and isinstance(flags.dry_run, str) else ""
        session.print(named.spelled if flags.output == "name" else f"{named.spelled} {word}{suffix}")
    else:
        session.out.write(render([item], False))
