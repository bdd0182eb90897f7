"""Manual pages, made from the commands themselves: `python -m karmada.cli.man DIRECTORY`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from karmada.api.version import VERSION
from karmada.cli import catalog
from karmada.cli.command import Command
from karmada.cli.flags import Flag
from karmada.cli.help import GLOBAL_FLAGS


def pages() -> dict[str, str]:
    """All pages by file name: one for each command of karmadactl, and one for karmada."""
    found = {f"karmadactl-{name}.1": _page(catalog.load(name)) for name in catalog.NAMES}
    return {"karmadactl.1": _overview(), "karmada.1": _karmada(), **found}


def _overview() -> str:
    lines = [*_head("karmadactl", "work with a Karmada control plane"), ".SH SYNOPSIS", "karmadactl COMMAND [options]"]
    for group in catalog.GROUPS:
        lines.append(f".SH {_quoted(group.title.upper())}")
        for entry in group.entries:
            lines += [".TP", f".BR karmadactl-{_text(entry.name)} (1)", _text(entry.summary)]
    return _joined([*lines, ".SH OPTIONS OF EVERY COMMAND", *_flags(GLOBAL_FLAGS)])


def _page(command: Command) -> str:
    lines = _head(f"karmadactl-{command.name}", command.summary)
    for one in (command, *command.subcommands):
        lines += [".SH SYNOPSIS" if one is command else f".SH {_quoted(one.name.upper())}"]
        lines += [f"karmadactl {_text(one.name)} {_text(one.usage)} [options]", ".PP", *_paragraphs(one.about)]
        lines += [*([".SH OPTIONS"] if one is command and one.flags else []), *_flags(one.flags)]
        if one.examples:
            lines += [".PP", "Examples:", ".nf", *map(_text, one.examples.strip().splitlines()), ".fi"]
    return _joined([*lines, ".SH SEE ALSO", ".BR karmadactl (1)"])


def _karmada() -> str:
    from karmada.standalone.main import parser

    lines = [*_head("karmada", "a whole federation on one machine"), ".SH COMMANDS"]
    for action in parser()._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, below in action.choices.items():
            lines += [f".SS karmada {_text(name)}", _text(summaries.get(name, "")) + "."]
            for flag in below._actions:
                if flag.option_strings and flag.help:
                    shown = flag.help.replace("%(default)s", str(flag.default))
                    lines += [".TP", f".B {_text(', '.join(flag.option_strings))}", _text(shown)]
    return _joined(lines)


def _head(name: str, summary: str) -> list[str]:
    return [
        f'.TH "{name.upper()}" "1" "" "karmada {VERSION}" "Karmada"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(summary[:1].lower() + summary[1:].rstrip('.'))}",
    ]


def _paragraphs(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield _text(line) if line else ".PP"


def _flags(flags: Sequence[Flag]) -> Iterator[str]:
    for flag in sorted(flags, key=lambda flag: flag.name):
        spelled = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
        yield from (".TP", f".B {_text(spelled)}", f"{_text(flag.help)} Default: {_text(flag.shown_default)}.")


def _text(text: str) -> str:
    """Text that roff takes as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _quoted(text: str) -> str:
    return f'"{_text(text)}"'


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(line.rstrip() for line in lines) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "man")
    folder.mkdir(parents=True, exist_ok=True)
    for file, page in pages().items():
        (folder / file).write_text(page)
