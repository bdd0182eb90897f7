"""A tiny shell: enough to look around in a simulated container, and for jobs to do what their command says.

It knows `echo`, `printf`, `cat`, `env`, `hostname`, `sleep`, `exit` and a few more, variables, quotes, `;`, `&&`, `||`
and redirection to nowhere; where there is a network, also `curl`, `wget`,
`nslookup` and `nc`. Nothing is executed anywhere:
a command is a pure function of its surroundings to its output, exit code and duration.
"""

import operator
import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from karmada.simulator.network.commands import COMMANDS as NETWORK_COMMANDS
from karmada.simulator.network.commands import Web

SHELLS = ("sh", "bash", "ash", "dash", "busybox")
ENDLESS = float("inf")
_VARIABLE = re.compile(r"\$(\w+|\{\w+\}|\?)")
_NOT_FOUND = 127
Command = Callable[[list[str], "Surroundings", "Outcome"], int]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What commands see."""

    hostname: str
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    web: Web | None = None
    """The network, where there is one."""
    now: float = 0.0
    """What time it is, in seconds since the epoch."""


@dataclass(slots=True)
class Outcome:
    """What commands did."""

    output: str = ""
    errors: str = ""
    code: int = 0
    seconds: float = 0.0
    """How long they took; infinite for those that do not end."""
    unknown: bool = False
    """Whether a command was not known here."""


class _Exit(Exception):
    """The script ended early."""


def is_known(command: Sequence[str]) -> bool:
    """Whether a command is one that this shell can act; any other program is somebody's own."""
    if not command:
        return False
    name = command[0].rsplit("/", 1)[-1]
    return (
        name in _COMMANDS
        or name in NETWORK_COMMANDS
        or (name in SHELLS and (len(command) == 1 or command[1].startswith("-")))
    )


def run(command: Sequence[str], around: Surroundings) -> Outcome:
    """Act a command."""
    outcome = Outcome()
    name = command[0].rsplit("/", 1)[-1] if command else ""
    try:
        if name in SHELLS:
            _script(_script_text(command, around), around, outcome)
        else:
            outcome.code = _one(list(command), around, outcome)
    except _Exit:
        pass
    return outcome


def _script_text(command: Sequence[str], around: Surroundings) -> str:
    for position, word in enumerate(command):
        if word.startswith("-") and "c" in word and position + 1 < len(command):
            return command[position + 1]
    return around.stdin


def _script(text: str, around: Surroundings, outcome: Outcome) -> None:
    variables = dict(around.env)
    skip = False
    for words, separator in _statements(text):
        if words and not skip:
            outcome.code = _statement(words, variables, around, outcome)
            if outcome.seconds == ENDLESS:
                return
        skip = (separator == "&&" and outcome.code != 0) or (separator == "||" and outcome.code == 0)


def _statement(words: list[str], variables: dict[str, str], around: Surroundings, outcome: Outcome) -> int:
    """Act the commands of a pipeline, each with the output of the one before as its input."""
    *first, last = _pipeline(words)
    for stage in first:
        piped = Outcome(code=outcome.code, seconds=outcome.seconds)
        with suppress(_Exit):
            _simple(stage, dict(variables), around, piped)
        outcome.errors += piped.errors
        outcome.seconds, outcome.unknown = piped.seconds, outcome.unknown or piped.unknown
        around = replace(around, stdin=piped.output)
    return _simple(last, variables, around, outcome)


def _pipeline(words: list[str]) -> list[list[str]]:
    """The commands of a pipeline up to the first that is not known here: what it would have read is shown instead."""
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    for number, stage in enumerate(stages[1:], 1):
        name = stage[0].rsplit("/", 1)[-1] if stage else ""
        if name not in _COMMANDS and name not in NETWORK_COMMANDS:
            return stages[:number]
    return stages


def _simple(words: list[str], variables: dict[str, str], around: Surroundings, outcome: Outcome) -> int:
    expanded = [_expanded(word, variables, outcome.code) for word in words]
    while expanded and re.fullmatch(r"\w+=.*", expanded[0]):
        name, _, value = expanded.pop(0).partition("=")
        variables[name] = value
    if not expanded:
        return 0
    quiet, loud = Outcome(), outcome
    plain, redirected = _without_redirection(expanded)
    target = quiet if redirected else loud
    target.seconds = outcome.seconds
    try:
        return _one(plain, replace(around, env=variables), target)
    except _Exit:
        outcome.code = target.code
        raise
    finally:
        outcome.seconds, outcome.unknown = target.seconds, outcome.unknown or target.unknown


def _statements(text: str) -> list[tuple[list[str], str]]:
    """Words of each statement, with what separates it from the next."""
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=False, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[tuple[list[str], str]] = []
    words: list[str] = []
    try:
        for token in lexer:
            if token in (";", "&&", "||", "&"):
                found.append((words, token))
                words = []
            else:
                words.append(token)
    except ValueError:
        words = [*text.split()]
    found.append((words, ""))
    return found


def _expanded(word: str, variables: Mapping[str, str], code: int) -> str:
    if word[:1] == "'" and word[-1:] == "'" and len(word) > 1:
        return word[1:-1]

    def value(match: re.Match[str]) -> str:
        name = match[1].strip("{}")
        return str(code) if name == "?" else variables.get(name, "")

    return _VARIABLE.sub(value, word.replace('"', ""))


def _without_redirection(words: list[str]) -> tuple[list[str], bool]:
    for position, word in enumerate(words):
        if word in (">", ">>", "<", ">&"):
            descriptor = words[position - 1] if position and words[position - 1] in ("1", "2") else ""
            return words[: position - bool(descriptor)], word in (">", ">>") and descriptor != "2"
    return words, False


def _one(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    name = words[0].rsplit("/", 1)[-1]
    if name in NETWORK_COMMANDS and around.web is not None:
        result = NETWORK_COMMANDS[name](words[1:], around.web, around.stdin)
        outcome.output += result.output
        outcome.errors += result.errors
        outcome.seconds += result.seconds
        return result.code
    command = _COMMANDS.get(name)
    if command is None:
        outcome.errors += f"sh: {words[0]}: not found\n"
        outcome.unknown = True
        return _NOT_FOUND
    return command(words[1:], around, outcome)


def _echo(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    end = "" if words[:1] == ["-n"] else "\n"
    outcome.output += " ".join(word for word in words if word not in ("-n", "-e")) + end
    return 0


def _printf(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    if words:
        text = words[0].replace("\\n", "\n").replace("\\t", "\t")
        for word in words[1:]:
            text = re.sub(r"%[sd]", word.replace("\\", "\\\\"), text, count=1)
        outcome.output += text
    return 0


def _cat(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    code = 0
    for path in words or ["-"]:
        text = around.stdin if path == "-" else around.files.get(path)
        if text is None:
            outcome.errors += f"cat: can't open '{path}': No such file or directory\n"
            code = 1
        else:
            outcome.output += text
    return code


def _ls(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    folder = next((word for word in words if not word.startswith("-")), "/").rstrip("/") + "/"
    inside = {path[len(folder) :].split("/", 1)[0] for path in around.files if path.startswith(folder)}
    outcome.output += "".join(f"{name}\n" for name in sorted(inside))
    return 0


def _env(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    outcome.output += "".join(f"{name}={value}\n" for name, value in around.env.items())
    return 0


def _printenv(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    if not words:
        return _env(words, around, outcome)
    values = [around.env[word] for word in words if word in around.env]
    outcome.output += "".join(f"{value}\n" for value in values)
    return 0 if len(values) == len(words) else 1


def _hostname(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    outcome.output += f"{around.hostname}\n"
    return 0


def _sleep(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    for word in words:
        if word in ("infinity", "inf"):
            outcome.seconds = ENDLESS
            continue
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", word)
        if match is None:
            outcome.errors += f"sleep: invalid number '{word}'\n"
            return 1
        outcome.seconds += float(match[1]) * units[match[2] or "s"]
    return 0


def _date(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    form = next((word[1:] for word in words if word.startswith("+")), "%a %b %e %H:%M:%S UTC %Y")
    outcome.output += f"{time.strftime(form, time.gmtime(around.now))}\n"
    return 0


def _exit(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    outcome.code = int(words[0]) & 255 if words and words[0].isdecimal() else outcome.code
    raise _Exit


def _tail(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    if "-f" in words:
        outcome.seconds = ENDLESS
    return 0


_NUMERIC: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}


def _test(words: list[str], around: Surroundings, outcome: Outcome) -> int:
    """0 when a comparison holds, 1 when it does not; forms that are not known here make the command unknown."""
    words = words[:-1] if words[-1:] == ["]"] else words
    if words[:1] == ["!"]:
        return 1 - _test(words[1:], around, outcome)
    match words:
        case [] | [""]:
            holds = False
        case [_]:
            holds = True
        case ["-z", text]:
            holds = not text
        case ["-n", text]:
            holds = bool(text)
        case ["-e" | "-f", path]:
            holds = path in around.files
        case ["-d", path]:
            holds = any(file.startswith(path.rstrip("/") + "/") for file in around.files)
        case [left, "=" | "==", right]:
            holds = left == right
        case [left, "!=", right]:
            holds = left != right
        case [left, sign, right] if sign in _NUMERIC and left.isdecimal() and right.isdecimal():
            holds = _NUMERIC[sign](int(left), int(right))
        case _:
            outcome.unknown, holds = True, False
    return 0 if holds else 1


def _prints(text: str, code: int = 0) -> Command:
    def command(words: list[str], around: Surroundings, outcome: Outcome) -> int:
        outcome.output += text
        return code

    return command


_COMMANDS: dict[str, Command] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "ls": _ls,
    "env": _env,
    "printenv": _printenv,
    "hostname": _hostname,
    "date": _date,
    "sleep": _sleep,
    "exit": _exit,
    "tail": _tail,
    "true": _prints(""),
    ":": _prints(""),
    "false": _prints("", 1),
    "pwd": _prints("/\n"),
    "whoami": _prints("root\n"),
    "id": _prints("uid=0(root) gid=0(root) groups=0(root)\n"),
    "uname": _prints("Linux\n"),
    "set": _prints(""),
    "test": _test,
    "[": _test,
}
