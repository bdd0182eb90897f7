"""What the process runtime of one cluster has: addresses, a folder, the programs it knows and whom they are for.

Whoever may create pods in `namespaces` decides with which arguments known programs run, as the user who runs the
simulator. It is no sandbox for strangers: the list is empty by default and belongs to the owner of the machine.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from random import Random

from karmada.simulator.processes.addresses import Loopback
from karmada.simulator.processes.programs import STOCK, Programs
from karmada.simulator.spec import FleetError, ProcessSpec
from karmada.simulator.workloads.views import Pod


class ProcessRuntime:
    """The parts that outlive a pod; `folder` keeps volumes between runs, without one they go at the end."""

    def __init__(self, spec: ProcessSpec, random: Random, folder: Path | None = None) -> None:
        if not sys.platform.startswith("linux"):
            raise FleetError("processes: this system is not Linux, whose namespaces and loopback addresses are needed")
        for name in spec.programs:
            if name not in STOCK:
                raise FleetError(f"processes.programs: {name!r} is none of {', '.join(STOCK)}")
        self.programs = Programs(spec.programs)
        self.loopback = Loopback(random, None if folder is None else folder / "loopback")
        self.namespaces = frozenset(spec.namespaces)
        self._temporary = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="karmada-processes-")) if folder is None else folder.absolute()
        self.shared = self.folder / "shared"
        """Folders that stand for those of nodes and for claims."""
        self.shared.mkdir(parents=True, exist_ok=True, mode=0o700)

    def runs(self, pod: Pod) -> bool:
        """Whether a pod's containers are processes; those of other pods are simulated."""
        if pod.metadata.namespace not in self.namespaces:
            return False
        return any(self.programs.knows(container.image) for container in pod.spec.containers)

    def pod_folder(self, uid: str) -> Path:
        """The folder of a pod."""
        return self.folder / "pods" / uid

    def forget(self, uid: str) -> None:
        """Remove what a pod leaves."""
        self.loopback.release(uid)
        shutil.rmtree(self.pod_folder(uid), ignore_errors=True)

    def close(self) -> None:
        """Give back what the runtime took from the machine."""
        self.loopback.close()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)
