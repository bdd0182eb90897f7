"""`karmada service`: the federation as a unit of systemd, of one user or of the whole machine.

    karmada service install -- --members 5          a user unit, started now and at every login
    karmada service install --system --run-as karmada --data /var/lib/karmada
    karmada service install --print                 only show the unit
    karmada service status | uninstall

What follows `--` are flags of `karmada up`, which are checked. A system unit runs as an ordinary user and can write
nothing but its data and its backups; it is given these directories where they are not there.
Only units that this command wrote are replaced or removed. Uninstalling leaves the data.
"""

import argparse
import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from karmada.apiserver.auth.pki import write_file
from karmada.machinery.flags import directory
from karmada.machinery.os_errors import spelled
from karmada.standalone.layout import default_directory

HEADER = "# Written by `karmada service install`; changed by running it again."
START_SECONDS, STOP_SECONDS = 300, 60
SYSTEM_UNITS = Path("/etc/systemd/system")
Run = Callable[[Sequence[str]], int]
Find = Callable[[], Run]
_HARDENING = """\
NoNewPrivileges=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectControlGroups=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictSUIDSGID=yes
CapabilityBoundingSet=
"""


class ServiceError(Exception):
    """Nothing was changed; the message says why and what to do."""


def parser() -> argparse.ArgumentParser:
    """The flags of `karmada service`."""
    made = argparse.ArgumentParser(
        prog="karmada service", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("action", choices=("install", "uninstall", "status"))
    made.add_argument("--name", default="karmada", help="of the unit (default: %(default)s)")
    made.add_argument(
        "--data", type=directory, default=default_directory(), metavar="DIR", help="(default: %(default)s)"
    )
    made.add_argument("--system", action="store_true", help="a unit of the machine, not of this user")
    made.add_argument("--run-as", default="", metavar="USER", help="of a system unit: who runs it")
    made.add_argument("--print", action="store_true", help="show the unit and change nothing")
    return made


def service(argv: Sequence[str], run: Run | None = None, environment: Mapping[str, str] = os.environ) -> int:
    """Run the command; the exit status."""
    given, further = list(argv), []
    if "--" in given:
        at = given.index("--")
        given, further = given[:at], given[at + 1 :]
    flags = parser().parse_args(given)
    try:
        return _act(flags, further, lambda: run or _systemctl(environment), environment)
    except (ServiceError, OSError) as error:
        print(f"error: {spelled(error)}", file=sys.stderr)
        return 1


def _act(flags: argparse.Namespace, further: list[str], systemctl: Find, environment: Mapping[str, str]) -> int:
    unit, scope = f"{flags.name}.service", [] if flags.system else ["--user"]
    path = (SYSTEM_UNITS if flags.system else user_units(environment)) / unit
    if flags.action == "status":
        return systemctl()([*scope, "--no-pager", "status", unit])
    if flags.action == "uninstall":
        _refuse_foreign_unit(path)
        if not path.exists():
            raise ServiceError(f"{unit} is not installed: there is no {path}")
        run = systemctl()
        run([*scope, "disable", "--now", unit])
        path.unlink()
        return run([*scope, "daemon-reload"])
    user, data = flags.run_as if flags.system else "", flags.data.absolute()
    backups = _checked(further)
    text = unit_file(data, further, user, backups)
    if flags.system and not user:
        raise ServiceError("--system needs --run-as USER: the control plane needs no root")
    if flags.print:
        print(text, end="")
        return 0
    _refuse_foreign_unit(path)
    run = systemctl()
    if user:
        give([data, *backups], user)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text.encode())
    print(path)
    return run([*scope, "daemon-reload"]) or run([*scope, "enable", "--now", unit])


def _checked(further: Sequence[str]) -> list[Path]:
    """Refuse flags with which `karmada up` would not start as a service; the folder of its backups, if it has one."""
    from karmada.standalone.main import parsed

    if any(word == "--data" or word.startswith("--data=") for word in further):
        raise ServiceError("--data is a flag of `karmada service`: write it before --")
    wish, _ = parsed(["up", *further])
    if wish.detach:
        raise ServiceError("--detach: systemd runs the federation in the background already: leave it out")
    for flag, path in (("--fleet", wish.fleet), ("--backup-to", wish.backup_to)):
        if path and not path.is_absolute():
            raise ServiceError(f"{flag} {path}: a service starts in another directory: write {path.absolute()}")
    return [wish.backup_to] if wish.backup_to else []


def give(folders: Sequence[Path], user: str) -> None:
    """Make those directories of a user that are missing, none of them before all have been looked at: systemd starts no
    unit whose directories are not there."""
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        hint = f"useradd --system --home-dir /var/lib/{user} {user}"
        raise ServiceError(f"there is no user {user}: create it, for example with `{hint}`") from None
    missing = sorted({folder for folder in folders if not _is_of(folder, account)})
    if missing and os.geteuid() not in (0, account.pw_uid):
        raise ServiceError(f"only root makes {missing[0]} for {user}: run this with sudo")
    for make in (False, True):
        for folder in missing:
            _reach(folder, account, make)


def _is_of(folder: Path, account: pwd.struct_passwd) -> bool:
    """Whether a directory is there."""
    if not folder.exists():
        return False
    if folder.stat().st_uid != account.pw_uid:
        user = account.pw_name
        raise ServiceError(
            f"{folder} is not {user}'s, who could not write it: `chown -R {user}: {folder}` gives it away"
        )
    return True


def _reach(folder: Path, account: pwd.struct_passwd, make: bool) -> None:
    """Go down to a directory that is missing, and make it if wished. The user may own directories on the way and
    replace what is in them at any moment: no link is followed, and every step begins at an open directory."""
    here = os.open("/", os.O_PATH)
    try:
        for depth, name in enumerate(folder.parts[1:], 2):
            path = Path(*folder.parts[:depth])
            try:
                below = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            except NotADirectoryError:
                raise ServiceError(f"{path} is a link or no directory: write {folder} without links") from None
            except FileNotFoundError:
                about, user = os.fstat(here), account.pw_name
                if about.st_uid not in (0, account.pw_uid) or about.st_mode & 0o022:
                    raise ServiceError(
                        f"others than root and {user} can write {path.parent}: make {folder} yourself, "
                        f"for example with `install -d -m 700 -o {user} {folder}`"
                    ) from None
                if not make:
                    return
                below = _made(name, here, account if path == folder else None)
            os.close(here)
            here = below
    finally:
        os.close(here)


def _made(name: str, parent: int, account: pwd.struct_passwd | None) -> int:
    """A new directory of a user, or one on the way to it; who could rename it in its parent gets nothing else given."""
    os.mkdir(name, 0o700, dir_fd=parent)
    made = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        if os.fstat(made).st_uid != os.geteuid() or os.listdir(made):
            raise ServiceError(f"{name} was replaced while it was made: look who does that")
        if account is None:
            os.fchmod(made, 0o755)
        elif account.pw_uid != os.geteuid():
            os.fchown(made, account.pw_uid, account.pw_gid)
    except BaseException:
        os.close(made)
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=parent)
        raise
    return made


def unit_file(data: Path, further: Sequence[str], user: str, backups: Sequence[Path] = ()) -> str:
    """The unit that runs the federation of a directory, as a user if it is one of the machine."""
    command = [sys.executable, "-m", "karmada.standalone.main", "up", "--data", str(data), *further]
    sections = [
        HEADER,
        "[Unit]",
        "Description=Karmada federation",
        "Wants=network-online.target",
        "After=network-online.target",
        "",
        "[Service]",
        "Type=notify",
        f"ExecStart={' '.join(map(quoted, command))}",
        "Restart=on-failure",
        "RestartSec=5",
        f"TimeoutStartSec={START_SECONDS}",
        f"TimeoutStopSec={STOP_SECONDS}",
        "KillMode=mixed",
        "UMask=0077",
    ]
    if user:
        writable = " ".join(quoted(str(path)) for path in (data, *backups))
        sections += [f"User={user}", f"ReadWritePaths={writable}", *_HARDENING.splitlines()]
    sections += ["", "[Install]", f"WantedBy={'multi-user' if user else 'default'}.target", ""]
    return "\n".join(sections)


def quoted(word: str) -> str:
    """A word of a command line as systemd reads it: no variable, no specifier, no escape is expanded."""
    if not word.isprintable():
        raise ServiceError(f"{word!r} cannot stand in a unit: it has characters that do not print")
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return plain if plain and not set(plain) & set(" '\"\\;") else f'"{plain}"'


def user_units(environment: Mapping[str, str]) -> Path:
    """Where the units of a user are."""
    base = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or Path.home()) / ".config"
    return Path(base) / "systemd" / "user"


def notify_systemd(state: str, environment: Mapping[str, str] = os.environ) -> None:
    """Notify systemd of the service's state, if it asked for it."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        try:
            notify.sendto(state.encode(), f"\0{address[1:]}" if address.startswith("@") else address)
        except OSError as error:
            print(f"systemd did not get {state}: {spelled(error)}", file=sys.stderr)


def _refuse_foreign_unit(path: Path) -> None:
    if path.exists() and not path.read_text().startswith(HEADER):
        raise ServiceError(f"{path} was not written by this command: choose another --name, or remove it yourself")


def _systemctl(environment: Mapping[str, str]) -> Run:
    program = shutil.which("systemctl", path=environment.get("PATH"))
    if program is None:
        raise ServiceError("systemctl is not here: --print shows the unit")
    return lambda arguments: subprocess.run([program, *arguments], check=False).returncode
