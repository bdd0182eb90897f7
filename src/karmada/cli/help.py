"""Help texts, in the layout kubectl's users know."""

from collections.abc import Iterable

from karmada.cli.catalog import GROUPS
from karmada.cli.command import Command
from karmada.cli.common_flags import KUBECONFIG
from karmada.cli.flags import Flag

GLOBAL_FLAGS = (
    Flag("debug", False, "Show where an unexpected failure came from."),
    Flag("help", False, "Show the help of a command.", "h"),
    KUBECONFIG,
    Flag("v", 0, "Verbosity of the output about requests; kept for scripts.", "v"),
)


def overview(program: str) -> str:
    """All commands."""
    lines = [
        f"{program} works with a Karmada control plane: one Kubernetes API for many clusters.",
        "",
        f"  {program} get clusters                  who is there",
        f"  {program} why deployment/nginx          why it is (not) where it should be",
        f"  {program} get pods -s members           pods of all members",
    ]
    for group in GROUPS:
        lines += ["", f"{group.title}:", *_aligned((entry.name, entry.summary) for entry in group.entries)]
    lines += [
        "",
        "Usage:",
        f"  {program} [command] [options]",
        "",
        f'Use "{program} <command> --help" for more about a command.',
        f'Use "{program} options" for flags that every command has.',
    ]
    return "\n".join(lines) + "\n"


def command_help(program: str, command: Command) -> str:
    """One command."""
    lines = [command.about.strip()]
    examples = command.examples.strip() or "\n".join(_firsts(command))
    if examples:
        lines += ["", "Examples:", *_indented(examples.replace("karmadactl", program))]
    if command.subcommands:
        words = [(sub.name.rpartition(" ")[2], sub.summary) for sub in command.subcommands]
        lines += ["", "Available Commands:", *_aligned(words)]
    if command.flags:
        lines += ["", "Options:", *flag_lines(command.flags)]
    usage = command.usage or ("COMMAND" if command.subcommands else "")
    lines += ["", "Usage:", f"  {' '.join(part for part in (program, command.name, usage) if part)} [options]"]
    lines += ["", f'Use "{program} options" for flags that every command has.']
    return "\n".join(lines) + "\n"


def _firsts(command: Command) -> Iterable[str]:
    """The first example of each command below one."""
    for sub in command.subcommands:
        lines = sub.examples.strip().splitlines() or list(_firsts(sub))
        yield from [line for line in lines if not line.startswith("#")][:1]


def flag_lines(flags: Iterable[Flag]) -> Iterable[str]:
    """Flags with their defaults and what they do."""
    for flag in sorted(flags, key=lambda flag: flag.name):
        start = f"-{flag.short}, " if flag.short else ""
        yield f"    {start}--{flag.name}={flag.shown_default}:"
        yield f"\t{flag.help}"
        yield ""


def _aligned(pairs: Iterable[tuple[str, str]]) -> Iterable[str]:
    listed = list(pairs)
    width = max(len(name) for name, _ in listed)
    return [f"  {name:<{width}}   {text}" for name, text in listed]


def _indented(text: str) -> Iterable[str]:
    return [f"  {line}".rstrip() for line in text.splitlines()]
