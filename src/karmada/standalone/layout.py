"""Where a federation keeps its things: one directory, readable by its owner only.

DIR/lock                    held by the supervising process: two federations never share a directory
DIR/format                  the version of this layout
DIR/kubeconfig              contexts karmada-apiserver, karmada, karmada-host, karmada-search, member1, ... (0600)
DIR/control-plane/          database, keys, admin.kubeconfig, gateway.kubeconfig if there is a gateway
DIR/members/                one directory per member, written by the simulator
DIR/logs/<part>.log         what each process says
DIR/supervisor.pid          the process to stop
DIR/restoring/              a restore that is under way, or was interrupted: nothing starts beside it
DIR/restoring-hub/          the same for a restore of the control plane alone
DIR/gateway                 where the gateway serves, while there is one
DIR/gateway-metrics         where its /metrics are
"""

import fcntl
import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

FORMAT = 1
BACKUPS = 24
"""How many are kept unless said otherwise."""
GATEWAY_ACCESS = "gateway.kubeconfig"
"""In the folder of the control plane."""
LOCK_ATTEMPTS, LOCK_PAUSE = 5, 0.05
_PROBE = 64 << 10
"""Bytes without which no start can be logged."""


class LayoutError(Exception):
    """The directory cannot be used; the message says why and what to do."""


def default_directory() -> Path:
    """`$KARMADA_HOME`, or .karmada in the home directory."""
    return Path(os.environ.get("KARMADA_HOME") or Path.home() / ".karmada")


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of one federation."""

    root: Path

    @property
    def kubeconfig(self) -> Path:
        """The one file users need."""
        return self.root / "kubeconfig"

    @property
    def gateway(self) -> Path:
        """Holds the address of the gateway."""
        return self.root / "gateway"

    @property
    def gateway_metrics(self) -> Path:
        """Holds the address of the gateway's metrics."""
        return self.root / "gateway-metrics"

    @property
    def control_plane(self) -> Path:
        """Database and keys of the control plane."""
        return self.root / "control-plane"

    @property
    def members(self) -> Path:
        """The simulator's directory."""
        return self.root / "members"

    @property
    def pid_file(self) -> Path:
        """The supervising process."""
        return self.root / "supervisor.pid"

    @property
    def restoring(self) -> Path:
        """Where a restore is staged; it is there as long as one is unfinished."""
        return self.root / "restoring"

    @property
    def restoring_hub(self) -> Path:
        """The same for a restore that leaves the members alone."""
        return self.root / "restoring-hub"

    def refuse_unfinished(self) -> None:
        """Raise if a restore into this directory was interrupted: what is there is not a federation."""
        for staged, flags in ((self.restoring, ""), (self.restoring_hub, " --control-plane-only")):
            if staged.exists():
                again = f"karmada restore FILE --data {self.root}{flags}"
                raise LayoutError(f"a restore into {self.root} was not finished: run `{again}` again")

    def databases(self) -> list[Path]:
        """Where objects are kept, the control plane's first; of one that is lost, only its mark may be left."""
        found = {
            path.with_suffix("") if path.suffix == ".mark" else path
            for folder in (self.control_plane, self.members)
            for pattern in ("*.db", "*.db.mark")
            for path in folder.rglob(pattern)
        }
        return sorted(found)

    def log(self, part: str) -> Path:
        """What a process says."""
        return self.root / "logs" / f"{part}.log"

    def command(self, words: str) -> str:
        """A command about this federation, as somebody has to type it."""
        place = "" if self.root == default_directory().absolute() else f" --data {shlex.quote(str(self.root))}"
        return f"karmada {words}{place}"

    def prepare(self, *, restoring: bool = False) -> None:
        """Create what is missing; refuse what another version made, and what only a restore may finish."""
        if not restoring:
            self.refuse_unfinished()
        try:
            for directory in (self.root, self.control_plane, self.members, self.root / "logs"):
                directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            version = self.root / "format"
            if not version.exists():
                version.write_text(f"{FORMAT}\n")
            found = int(version.read_text().strip() or 0)
            self._probe()
        except PermissionError as error:
            raise LayoutError(
                f"no permission to write {error.filename}: choose another directory with --data"
            ) from error
        except OSError as error:
            raise LayoutError(f"cannot write {error.filename or self.root}: {error.strerror}") from error
        except ValueError as error:
            raise LayoutError(
                f"{self.root} is not a federation's directory: its format file is not a number"
            ) from error
        if found > FORMAT:
            raise LayoutError(
                f"{self.root} was made by a newer version (format {found}, this one knows {FORMAT}): "
                "use that version, or another directory with --data"
            )

    def _probe(self) -> None:
        """Raise OSError if the directory takes no more files, or the disk no more bytes."""
        probe = self.root / ".probe"
        try:
            probe.write_bytes(bytes(_PROBE))
        finally:
            probe.unlink(missing_ok=True)

    def lock(self) -> IO[str]:
        """Hold the directory until the returned file is closed."""
        try:
            file = (self.root / "lock").open("w")
        except OSError as error:
            raise LayoutError(
                f"cannot write {error.filename}: {error.strerror}: choose another directory with --data"
            ) from error
        for attempt in range(LOCK_ATTEMPTS):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                # Somebody may just be looking whether it is held.
                time.sleep(LOCK_PAUSE if attempt < LOCK_ATTEMPTS - 1 else 0)
            else:
                return file
        file.close()
        raise LayoutError(
            f"a federation is running in {self.root} already: stop it with `{self.command('down')}`, "
            "or choose another directory with --data"
        )

    def supervisor(self) -> int | None:
        """The process id of the running supervisor, if there is one; what a dead one left behind does not count."""
        try:
            with (self.root / "lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return self._written_pid()
        except OSError:
            return None
        return None

    def members_before(self) -> int:
        """How many numbered members there were at the last start; 0 if there were none."""
        numbers = [path.name.removeprefix("member") for path in self.members.glob("member*") if path.is_dir()]
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    def _written_pid(self) -> int | None:
        try:
            return int(self.pid_file.read_text())
        except (OSError, ValueError):
            return None
