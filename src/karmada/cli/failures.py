"""What ends a command before it is done. The words are for the person at the keyboard; see `errors` for the rest."""

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""


class CommandError(Exception):
    """The command cannot do what was asked: one line that names the cause, and the remedy where there is one."""


class UsageError(CommandError):
    """The command line itself is wrong; `command` is the one whose help shows how it is right."""

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(message)
        self.command = command


class SeveralErrors(CommandError):
    """Some of several clusters failed; what the others said is printed already."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages
