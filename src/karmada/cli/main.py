"""`karmadactl` from its first word to its exit status.

Only the module of the command that is used is imported. `execute` is the whole program for one command line; `main`
gives it a loop and the real streams.
"""

import sys
from collections.abc import Coroutine, Sequence

from karmada.cli.command import Command
from karmada.cli.errors import report
from karmada.cli.failures import UsageError
from karmada.cli.flags import parse
from karmada.cli.session import Session

_NO_SPACE, _NO_FILES = 2, 4
"""What a shell does after a completion: no blank follows, no file is offered. Bits, as cobra has them."""
_SWITCHES = ("--debug", "-h", "--help")


def main(words: Sequence[str] | None = None, program: str = "karmadactl") -> int:
    """Run one command line."""
    words = sys.argv[1:] if words is None else words
    if list(words) == ["--version"]:
        words = ["version"]
    session = Session(program=program)
    if not needs_loop(words):
        return _finish(session, words)
    command = _named(words)
    if command is not None and command.offline:
        return _driven(execute(words, session))
    if command is not None and command.quick:
        from karmada.machinery.http.blocking import NeedsLoop

        try:
            return _driven(execute(words, Session(program=program, quick=True)))
        except NeedsLoop:
            pass  # Nothing was written or printed so far.
        except KeyboardInterrupt as error:
            return report(error, session)
    import asyncio

    try:
        return asyncio.run(execute(words, session))
    except KeyboardInterrupt as error:
        return report(error, session)


def complete_for_kubectl() -> int:
    """The candidates that kubectl asks its plugin for, and in the last line how it goes on: see cobra's directives."""
    import asyncio
    from io import StringIO

    found = StringIO()
    session = Session(program="kubectl karmada", out=found)
    code = asyncio.run(_complete(session, sys.argv[1:]))
    candidates = found.getvalue()
    goes_on = any(line.endswith(("=", "/")) for line in candidates.splitlines())
    directive = (_NO_FILES | _NO_SPACE * goes_on) if candidates else 0
    sys.stdout.write(f"{candidates}:{directive}\n")
    return code


def needs_loop(words: Sequence[str]) -> bool:
    """Whether the command line does more than show help: asyncio takes a third of the start-up."""
    if words and words[0] == "__complete":
        return True
    return bool(words) and not {"-h", "--help"} & set(_before_dashes(words)) and words[0] != "help"


def _named(words: Sequence[str]) -> Command | None:
    from karmada.cli import catalog

    return catalog.load(words[0]) if words[0] in catalog.NAMES else None


def _driven(work: Coroutine[None, None, int]) -> int:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        return int(done.value)
    raise AssertionError("without a loop nothing may wait")


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: list(words).index("--")] if "--" in words else words


def _finish(session: Session, words: Sequence[str]) -> int:
    try:
        show_help(session, words)
    except Exception as error:
        return report(error, session)
    return 0


async def execute(words: Sequence[str], session: Session) -> int:
    """Run one command line in a loop; the exit status."""
    session.debug = "--debug" in _before_dashes(words)
    if words and words[0] == "__complete":
        return await _complete(session, words[1:])
    if not needs_loop(words):
        return _finish(session, words)
    try:
        command, rest = find(words, session.program)
        if command.run is None:
            show_help(session, words)
            return 0
        from karmada.cli.help import GLOBAL_FLAGS

        values = parse(rest, [*GLOBAL_FLAGS, *command.flags], command.name)
        if values.arguments and (command.files_only or not command.usage):
            remedy = ": write -f before each file" if command.files_only else ""
            raise UsageError(f"unexpected arguments: [{' '.join(values.arguments)}]{remedy}", command.name)
        values.input, values.environment = session.stdin, session.environment
        return await command.run(session, values) or 0
    except (Exception, KeyboardInterrupt) as error:
        return report(error, session)
    finally:
        await session.close()
        _flush(session)


async def _complete(session: Session, words: Sequence[str]) -> int:
    """For shells: candidates, or silence."""
    import asyncio

    from karmada.cli.completing import PATIENCE, complete

    try:
        async with asyncio.timeout(PATIENCE):
            for word in await complete(session, words):
                session.print(word)
    except Exception as error:
        if session.debug:
            report(error, session)
        return 1
    finally:
        await session.close()
    return 0


def show_help(session: Session, words: Sequence[str]) -> None:
    """Help for a command line: of the command it names, or of all."""
    from karmada.cli import help

    wanted = [word for word in _before_dashes(words) if word not in ("-h", "--help", "help")]
    if not wanted:
        session.out.write(help.overview(session.program))
        return
    command, _ = find(wanted, session.program)
    session.out.write(help.command_help(session.program, command))


def find(words: Sequence[str], program: str) -> tuple[Command, list[str]]:
    """The command that words name, and the rest of them. Flags may come before the command."""
    leading, rest = _leading_flags(list(words))
    if not rest:
        raise UsageError(f"a command is needed: see '{program} --help'")
    name = rest.pop(0)
    from karmada.cli import catalog

    if name not in catalog.NAMES:
        raise UsageError(f'unknown command "{name}" for "{program}"{_suggestion(name, catalog.NAMES)}')
    command = catalog.load(name)
    while command.subcommands and rest and not rest[0].startswith("-"):
        known = {sub.name.rpartition(" ")[2]: sub for sub in command.subcommands}
        aliases = {alias: sub for sub in command.subcommands for alias in sub.aliases}
        found = known.get(rest[0]) or aliases.get(rest[0])
        if found is None:
            if command.run is not None:
                break
            text = f'unknown command "{rest[0]}" for "{program} {command.name}"'
            raise UsageError(text + _suggestion(rest[0], known))
        command = found
        rest.pop(0)
    return command, leading + rest


def _leading_flags(words: list[str]) -> tuple[list[str], list[str]]:
    leading: list[str] = []
    while words and words[0].startswith("-"):
        alone = "=" in words[0] or words[0] in _SWITCHES or len(words) == 1
        leading += words[: 1 if alone else 2]
        del words[: 1 if alone else 2]
    return leading, words


def _suggestion(name: str, known: Sequence[str] | dict[str, Command]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 3, 0.6)
    return "\n\nDid you mean this?\n" + "\n".join(f"\t{word}" for word in close) + "\n" if close else ""


def _flush(session: Session) -> None:
    try:
        session.out.flush()
    except BrokenPipeError:
        import os

        # Whoever read us has left; without this the interpreter would complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
