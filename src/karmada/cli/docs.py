"""`docs/cli`, made from the commands themselves: `python -m karmada.cli.docs [DIRECTORY]`."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from karmada.cli import catalog
from karmada.cli.command import Command
from karmada.cli.flags import Flag
from karmada.cli.help import GLOBAL_FLAGS

PROGRAM = "karmadactl"
NOTE = "<!-- Made by `python -m karmada.cli.docs`; do not edit. -->\n"


def pages() -> dict[str, str]:
    """All pages by file name."""
    found = {"README.md": _index()}
    for name in catalog.NAMES:
        found[f"{name}.md"] = "\n".join([NOTE, *_command(catalog.load(name), 1)]).rstrip() + "\n"
    return found


def write(folder: Path) -> None:
    """Write the pages; what is no page any more goes."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for path in folder.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (folder / name).write_text(text)


def _index() -> str:
    lines = [NOTE, f"# {PROGRAM}", "", f"Also `kubectl karmada`. `{PROGRAM} COMMAND --help` shows the same.", ""]
    for group in catalog.GROUPS:
        lines += [f"## {group.title}", "", "| command | |", "|---|---|"]
        lines += [f"| [`{entry.name}`]({entry.name}.md) | {entry.summary} |" for entry in group.entries]
        lines.append("")
    lines += ["## Flags of every command", "", *_flags(GLOBAL_FLAGS)]
    return "\n".join(lines).rstrip() + "\n"


def _command(command: Command, level: int) -> Iterator[str]:
    yield f"{'#' * level} {PROGRAM} {command.name}"
    yield ""
    yield command.about
    yield ""
    if command.run is not None:
        yield f"    {PROGRAM} {command.name} {command.usage}".rstrip() + " [options]"
        yield ""
    if command.examples:
        yield "```sh"
        yield command.examples.strip()
        yield "```"
        yield ""
    if command.flags:
        yield from _flags(command.flags)
    for sub in command.subcommands:
        yield from _command(sub, min(level + 1, 4))


def _flags(flags: Sequence[Flag]) -> Iterator[str]:
    yield "| flag | default | |"
    yield "|---|---|---|"
    for flag in sorted(flags, key=lambda flag: flag.name):
        short = f"`-{flag.short}`, " if flag.short else ""
        text = flag.help.replace("|", "\\|")
        yield f"| {short}`--{flag.name}` | `{flag.shown_default}` | {text} |"
    yield ""


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/cli"))
