"""What a command has to work with: its streams, its environment, and the servers it talks to.

Servers are connected on first use and closed together at the end. Members are always reached through the control
plane (`clusters/<name>/proxy`), as whoever asks.
"""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.output.controls import shown

if TYPE_CHECKING:
    from karmada.cli.access import Access
    from karmada.explain.members import Members
    from karmada.machinery.http.target import Target

NO_CONFIGURATION = """Missing or incomplete configuration info.  Please point to an existing, complete config file:
  1. Via the command-line flag --kubeconfig
  2. Via the KUBECONFIG environment variable
  3. In your home directory as ~/.kube/config"""
OF_KARMADA_UP = "\nFor a control plane that `karmada up` runs: export KUBECONFIG=$(karmada kubeconfig)"
PATIENCE = 8.0
"""Seconds that one member may take: nobody waits for it in vain."""
HUB = "Karmada"
"""What the control plane is called where clusters are named."""


class Session:
    """The streams and environment of one command, and the API servers it talks to."""

    def __init__(
        self,
        *,
        out: TextIO | None = None,
        err: TextIO | None = None,
        stdin: TextIO | None = None,
        environment: Mapping[str, str] = os.environ,
        program: str = "karmadactl",
        patience: float = PATIENCE,
        quick: bool = False,
    ) -> None:
        """`quick` reads the control plane without an event loop: see `machinery.http.blocking`."""
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.stdin = stdin or sys.stdin
        self.environment = environment
        self.program = program
        self._patience = patience
        self.quick = quick
        self.debug = False
        self._open: dict[tuple[str, ...], Access] = {}

    def print(self, text: str = "") -> None:
        """A line for the person who asked."""
        self.out.write(text + "\n")

    def warn(self, text: str) -> None:
        """A line beside the output; it may quote anybody."""
        self.err.write(shown(text) + "\n")

    @property
    def colours(self) -> bool:
        """Whether output may be coloured: on a terminal, unless NO_COLOR says otherwise."""
        return self.out.isatty() and not self.environment.get("NO_COLOR")

    @property
    def columns(self) -> int:
        """How wide the terminal is; 0 where the output goes elsewhere."""
        if not self.out.isatty():
            return 0
        width = self.environment.get("COLUMNS", "")
        if width.isdecimal():
            return int(width)
        try:
            return os.get_terminal_size(self.out.fileno()).columns
        except (OSError, ValueError):
            return 0

    def hub(self, flags: Values) -> "Access":
        """The control plane that the flags name."""
        explicit = getattr(flags, "kubeconfig", "")
        context = getattr(flags, "karmada_context", "")
        found = self._open.get((explicit, context))
        if found is None:
            from karmada.cli.access import Access

            target = self._impersonated(self.target(explicit, context, OF_KARMADA_UP), flags)
            found = self._open[explicit, context] = Access(HUB, target, self.warn, self._patience, quick=self.quick)
        return found

    def member(self, flags: Values, name: str) -> "Access":
        """A member, through the control plane."""
        hub = self.hub(flags)
        key = (hub.target.server, name)
        found = self._open.get(key)
        if found is None:
            found = self._open[key] = hub.through_proxy(name)
        return found

    def members(self, flags: Values) -> "Members":
        """All members, for explanations."""
        from karmada.explain.members import Members

        return Members(lambda name: self.member(flags, name).client, self._patience)

    def outside(self, name: str, kubeconfig: str, context: str) -> "Access":
        """A cluster by a kubeconfig of its own."""
        from karmada.cli.access import Access

        key = ("outside", kubeconfig, context)
        if key not in self._open:
            self._open[key] = Access(name, self.target(kubeconfig, context), self.warn, self._patience)
        return self._open[key]

    def target(self, explicit: str, context: str = "", hint: str = "") -> "Target":
        """What a kubeconfig (the usual one if none is named) and a context lead to; `hint` is said where none is."""
        from karmada.machinery.http.kubeconfig import default_paths, find_target, load

        if explicit and not os.path.isfile(explicit):
            raise CommandError(f"stat {explicit}: no such file or directory: give an existing kubeconfig")
        paths = default_paths(explicit, self.environment)
        if any(map(os.path.isfile, paths)):
            known = load(paths)
            if context and context not in known.contexts:
                there = f" (there are: {', '.join(sorted(known.contexts))})" if known.contexts else ""
                raise CommandError(f'context "{context}" does not exist{there}')
            return known.target(context)
        if "KUBERNETES_SERVICE_HOST" not in self.environment:
            raise CommandError(NO_CONFIGURATION + hint)
        return find_target(explicit, context, self.environment)

    def _impersonated(self, target: "Target", flags: Values) -> "Target":
        user, uid = getattr(flags, "karmada_as", ""), getattr(flags, "karmada_as_uid", "")
        groups = tuple(getattr(flags, "karmada_as_group", ()))
        if not (user or uid or groups):
            return target
        identity = target.identity._replace(impersonate_user=user, impersonate_uid=uid, impersonate_groups=groups)
        return target._replace(identity=identity)

    async def close(self) -> None:
        """Close all connections."""
        for access in self._open.values():
            await access.transport.close()
