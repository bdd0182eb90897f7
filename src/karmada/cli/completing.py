"""What can follow on a command line: commands, flags, and things the control plane knows.

The shells' scripts call `karmadactl __complete WORD…`; the last word is the one being written. Whatever goes wrong,
nothing is offered and nothing is printed: a person is typing.
"""

from collections.abc import Sequence

from karmada.cli import catalog
from karmada.cli.command import Command
from karmada.cli.flags import Flag, Values
from karmada.cli.help import GLOBAL_FLAGS
from karmada.cli.session import Session

FORMATS = ("json", "yaml", "name", "wide", "jsonpath=", "custom-columns=", "go-template=")
PATIENCE = 3.0


async def complete(session: Session, words: Sequence[str]) -> list[str]:
    """The words that can stand where the last one is being written."""
    *before, current = words or [""]
    command, rest = _walk(before)
    if command is None:
        return _starting(current, catalog.NAMES)
    flags = {flag.name: flag for flag in (*GLOBAL_FLAGS, *command.flags)}
    shorts = {flag.short: flag for flag in flags.values() if flag.short}
    if current.startswith("--") and "=" in current:
        name, _, typed = current[2:].partition("=")
        offered = await _values(session, flags.get(name), typed, rest, command)
        return [f"--{name}={value}" for value in offered]
    waiting = _waiting_flag(rest, flags, shorts)
    if waiting is not None:
        return await _values(session, waiting, current, rest, command)
    if current.startswith("-"):
        return _starting(current, [f"--{name}" for name in sorted(flags)])
    if command.subcommands and not rest:
        return _starting(current, [sub.name.rpartition(" ")[2] for sub in command.subcommands])
    return await _arguments(session, command, rest, current)


def _walk(words: list[str]) -> tuple[Command | None, list[str]]:
    if not words or words[0] not in catalog.NAMES:
        return None, []
    command, rest = catalog.load(words[0]), words[1:]
    while rest and command.subcommands:
        found = next((sub for sub in command.subcommands if sub.name.rpartition(" ")[2] == rest[0]), None)
        if found is None:
            break
        command, rest = found, rest[1:]
    return command, rest


def _waiting_flag(rest: list[str], flags: dict[str, Flag], shorts: dict[str, Flag]) -> Flag | None:
    """The flag whose value is being written."""
    if not rest or not rest[-1].startswith("-") or "=" in rest[-1]:
        return None
    last = rest[-1]
    flag = flags.get(last[2:]) if last.startswith("--") else shorts.get(last[-1:])
    return flag if flag is not None and flag.optional is None else None


async def _values(session: Session, flag: Flag | None, typed: str, rest: list[str], command: Command) -> list[str]:
    if flag is None:
        return []
    match flag.name:
        case "operation-scope":
            return _starting(typed, ("karmada", "members", "all"))
        case "output":
            return _starting(typed, FORMATS)
        case "cluster" | "clusters" | "without-cluster":
            before, comma, last = typed.rpartition(",")
            names = await _names(session, rest, command, "clusters.cluster.karmada.io")
            return [f"{before}{comma}{name}" for name in _starting(last, names)]
        case "namespace":
            return _starting(typed, await _names(session, rest, command, "namespaces"))
        case "karmada-context" | "context" | "cluster-context":
            from karmada.machinery.http.kubeconfig import default_paths, load

            return _starting(typed, load(default_paths("", session.environment)).contexts)
    return []


async def _arguments(session: Session, command: Command, rest: list[str], current: str) -> list[str]:
    given = [word for word in rest if not word.startswith("-")]
    if command.name == "completion":
        return _starting(current, ("bash", "zsh", "fish"))
    if command.name == "taint" and not given:
        return _starting(current, ("clusters",))
    if command.takes_members:
        return _starting(current, await _names(session, rest, command, "clusters.cluster.karmada.io"))
    if not any(flag.name == "kubeconfig" for flag in command.flags) or "KIND" not in _kinds_of_usage(command):
        return []
    if "/" in current:
        kind, _, typed = current.partition("/")
        return [f"{kind}/{name}" for name in _starting(typed, await _names(session, rest, command, kind))]
    if not given:
        return _starting(current, await _resources(session, rest, command))
    return _starting(current, await _names(session, rest, command, given[0]))


def _kinds_of_usage(command: Command) -> str:
    """Whether the arguments are kinds and names."""
    words = ("TYPE", "NAME", "RESOURCE", "KIND")
    return "KIND" if any(word in command.usage for word in words) and "CLUSTER_NAME" not in command.usage else ""


async def _resources(session: Session, rest: list[str], command: Command) -> list[str]:
    known = await session.hub(_parsed(rest, command)).kinds.all()
    return sorted({kind.type.resource for kind in known if "list" in kind.verbs})


async def _names(session: Session, rest: list[str], command: Command, kind: str) -> list[str]:
    from karmada.cli.kinds import Wanted
    from karmada.cli.reading import Look, namespace_of, objects

    flags = _parsed(rest, command)
    hub = session.hub(flags)
    found = await hub.kinds.find(kind)
    look = Look(namespace_of(hub, flags, found))
    return sorted(item["metadata"]["name"] for item in await objects(hub, Wanted(found), look))


def _parsed(rest: list[str], command: Command) -> Values:
    """The flags so far, as far as they can be understood."""
    from karmada.cli.failures import UsageError
    from karmada.cli.flags import parse

    try:
        values = parse(rest, [*GLOBAL_FLAGS, *command.flags])
    except UsageError:
        values = parse((), [*GLOBAL_FLAGS, *command.flags])
    values.namespace = getattr(values, "namespace", "")
    return values


def _starting(typed: str, words: Sequence[str]) -> list[str]:
    return [word for word in words if word.startswith(typed)]
