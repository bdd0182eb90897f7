"""Labels and annotations: one command in two spellings."""

from typing import Any, NamedTuple

from karmada.cli import common_flags as common
from karmada.cli.command import Command, Run
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.session import Session
from karmada.cli.writing import Named, chosen, dry_run, print_outcome

JSONObject = dict[str, Any]


class Marks(NamedTuple):
    """What is asked for."""

    set: dict[str, str]
    remove: list[str]


def split(words: list[str]) -> tuple[list[str], Marks]:
    """Names and changes: `key=value` sets, `key-` removes, from the first word that is one of them on."""
    names: list[str] = []
    marks = Marks({}, [])
    for word in words:
        key, equals, value = word.partition("=")
        if equals:
            marks.set[key] = value
        elif word.endswith("-") and names:
            marks.remove.append(word[:-1])
        else:
            names.append(word)
    both = set(marks.set) & set(marks.remove)
    if both:
        raise CommandError(f"can not both modify and remove a label in the same command: {', '.join(sorted(both))}")
    return names, marks


def command(name: str, field: str, word: str) -> Command:
    """`label` or `annotate`."""
    return Command(
        name,
        "[--overwrite] (-f FILENAME | TYPE NAME) KEY_1=VAL_1 ... KEY_N=VAL_N [--resource-version=version]",
        f"Change the {field} of objects of the control plane: KEY=VALUE sets, KEY- removes.",
        _runner(field, word),
        (
            *common.CONNECTION,
            common.NAMESPACE,
            common.ALL_NAMESPACES,
            *common.FILES,
            *common.PRINTING,
            common.DRY_RUN,
            common.SELECTOR,
            common.FIELD_SELECTOR,
            Flag("all", False, "All objects of the kind in the namespace."),
            Flag("field-manager", f"kubectl-{name}", common.FIELD_MANAGER_HELP),
            Flag("list", False, f"Show the {field}."),
            Flag("local", False, "Not supported."),
            Flag("overwrite", False, "Replace values that exist."),
            Flag("resource-version", "", "Only if the object is in this state."),
        ),
        examples=f"karmadactl {name} deployment nginx tier=web\nkarmadactl {name} deployment nginx tier-",
    )


def _runner(field: str, word: str) -> Run:
    async def run(session: Session, flags: Values) -> None:
        if flags.local:
            raise CommandError("--local is not supported: use --dry-run=server to see the result without storing it")
        names, marks = split(flags.arguments)
        if not flags.list and not (marks.set or marks.remove):
            raise CommandError(f"at least one {field.removesuffix('s')} update is required")
        hub = session.hub(flags)
        for one in await chosen(hub, flags, names):
            resource = one.resource(hub, flags)
            live = await resource.get(one.name, one.namespace)
            present: dict[str, str] = live["metadata"].get(field) or {}
            if flags.list:
                for key, value in sorted(present.items()):
                    session.print(f"{key}={value}")
                continue
            _check(one, present, marks, flags.overwrite)
            missing = [key for key in marks.remove if key not in present]
            for key in missing:
                session.print(f'{field.removesuffix("s")} "{key}" not found.')
            changes: JSONObject = {**marks.set, **dict.fromkeys([key for key in marks.remove if key in present])}
            changes = {key: value for key, value in changes.items() if present.get(key) != value}
            done = live
            if changes and not dry_run(flags).client:
                patch: JSONObject = {"metadata": {field: changes}}
                if flags.resource_version:
                    patch["metadata"]["resourceVersion"] = flags.resource_version
                done = await resource.patch(one.name, patch, one.namespace, dry_run=dry_run(flags).server)
            print_outcome(session, flags, one, _outcome(word, marks, changes), done)

    return run


def _check(one: Named, present: dict[str, str], marks: Marks, overwrite: bool) -> None:
    if overwrite:
        return
    for key, value in marks.set.items():
        if key in present and present[key] != value:
            raise CommandError(f"{one.spelled}: '{key}' already has a value ({present[key]}), and --overwrite is false")


def _outcome(word: str, marks: Marks, changes: JSONObject) -> str:
    if word == "annotated":
        return word
    if not changes:
        return f"not {word}"
    return f"un{word}" if not marks.set and marks.remove else word
