"""Starts the controllers of the control plane that are selected and whose gates are on."""

from dataclasses import dataclass, field
from typing import Any

from karmada.controllers.context import Context
from karmada.controllers.registry import CONTROLLERS, Shared
from karmada.controllers.selection import Selection
from karmada.machinery.controller import Controller
from karmada.machinery.options import Options
from karmada.machinery.supervisor import Supervisor
from karmada.membership.members import Members


@dataclass(slots=True)
class ControllerManager:
    """The controllers of one process."""

    context: Context
    members: Members
    selection: Selection = field(default_factory=Selection)
    options: Options = field(default_factory=Options)

    def start(self, supervisor: Supervisor) -> list[Controller[Any]]:
        """Start every wanted controller, each restarted on its own when it dies; returns those with work queues."""
        shared = Shared(self.context, self.members, self.selection, self.options)
        started = []
        for registered in CONTROLLERS:
            if registered.build is None or not registered.wanted(self.selection, self.context.gates):
                continue
            for name, part in registered.build(shared):
                if isinstance(part, Controller):
                    supervisor.start(name, part.run)
                    started.append(part)
                else:
                    supervisor.start(name, part)
        return started
