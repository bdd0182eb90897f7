"""Started before a program, as a script: gives it its own view of the file system, then becomes the program.

    python -I -S sandbox.py PARENT FOLDER WRITABLE PROGRAM ARGUMENT...

In a mount namespace of its own, `/etc/hosts` is FOLDER/hosts, `/run` is FOLDER/run (with the service account's token)
and everything outside FOLDER and WRITABLE is read-only. Without the right to make one, it makes a user namespace first,
which needs no privileges. The program ends with PARENT. This file imports only the standard library.
"""

import ctypes
import os
import signal
import struct
import sys

NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
READ_ONLY = 0x1
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_SETATTR = 442
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise what the last call into the C library left."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare() -> None:
    """Enter a new mount namespace, in a new user namespace where that is needed."""
    if libc.unshare(NEW_MOUNTS) == 0:
        return
    user, group = os.geteuid(), os.getegid()
    check(libc.unshare(NEW_USER | NEW_MOUNTS), "user namespaces are not allowed on this machine")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def bind(source: str, target: str) -> None:
    """Have one place show another."""
    check(libc.mount(source.encode(), target.encode(), None, BIND | RECURSIVE, None), f"bind {target}")


def set_read_only(path: str, wanted: bool, flags: int = 0) -> None:
    """Make a mount read-only or writable."""
    attributes = struct.pack("QQQQ", READ_ONLY if wanted else 0, 0 if wanted else READ_ONLY, 0, 0)
    check(libc.syscall(MOUNT_SETATTR, AT_FDCWD, path.encode(), flags, attributes, len(attributes)), f"remount {path}")


def enclose(folder: str, writable: str) -> None:
    """Give the process its own view of the file system."""
    unshare()
    check(libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None), "private mounts")
    for path in (folder, writable):
        bind(path, path)
    bind(f"{folder}/hosts", "/etc/hosts")
    bind(f"{folder}/run", "/run")
    set_read_only("/", True, AT_RECURSIVE)
    for path in (folder, writable, "/run"):
        set_read_only(path, False)


def main() -> None:
    """Set the stage and become the program."""
    parent, folder, writable, *command = sys.argv[1:]
    enclose(folder, writable)
    # After the namespaces: a change of credentials would clear it.
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM), "prctl")
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    if os.getppid() != int(parent):
        sys.exit(1)
    os.chdir(f"{folder}/tmp")
    os.execv(command[0], command)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"error: the process runtime cannot start a program: {error.strerror}")
