"""The authority of a control plane that `karmadactl init` makes: which one it is, and where its key is kept.

The key is in no Secret: a folder on the machine of whoever installs has the only copy. A run that goes on where another
one ended uses the same authority, no run replaces that of a control plane that is there, and none loses a key.

Until the host has what trusts a new authority, a file beside the key names the host and the namespace it was made for:
a run that failed so early is followed by one with the same authority, which no other control plane can have.
"""

import base64
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from karmada.cli.access import Access
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.machinery.errors import NotFound
from karmada.machinery.os_errors import spelled

if TYPE_CHECKING:
    from karmada.apiserver.auth.pki import Authority

_UNTRUSTED = "ca.untrusted"


async def authority_for(host: Access, flags: Values) -> "Authority":
    """The authority that the flags name, that of the control plane that is there, or a new one."""
    from karmada.apiserver.auth.pki import Authority

    if bool(flags.ca_cert_file) != bool(flags.ca_key_file):
        raise CommandError("--ca-cert-file and --ca-key-file go together")
    folder = Path(flags.karmada_pki)
    there = await _installed(host, flags.namespace)
    if flags.ca_cert_file:
        given = Path(flags.ca_cert_file), Path(flags.ca_key_file)
        found = _load(*given, "--ca-cert-file and --ca-key-file")
    elif (folder / "ca.key").exists() and (there or _was_made_for(host, flags, folder)):
        found = _load(folder / "ca.crt", folder / "ca.key", f"the authority in {folder}")
    else:
        found = Authority.create("karmada")
    if there and found.certificate_pem != there:
        raise CommandError(
            f"namespace {flags.namespace} has a control plane of another authority: name the folder that has its "
            "ca.key with --karmada-pki, or remove it with karmadactl deinit"
        )
    return found


def keep(host: Access, flags: Values, authority: "Authority") -> Path | None:
    """Write an authority to its folder, before anything trusts it: who is interrupted has its key. One that is there is
    moved aside, as another control plane may have it; where its key is then."""
    from karmada.apiserver.auth.pki import write_file

    folder = Path(flags.karmada_pki)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    key, aside = folder / "ca.key", None
    if not key.exists() or not _is_key_of(authority, key.read_bytes()):
        aside = _move_aside(folder) if key.exists() else None
        if not flags.ca_cert_file:
            write_file(folder / _UNTRUSTED, _place(host, flags).encode(), 0o600)
    if flags.ca_cert_file:
        (folder / _UNTRUSTED).unlink(missing_ok=True)  # others may have this authority, whatever becomes of this run
    for name, data in (("ca.crt", authority.certificate_pem), ("ca.key", authority.key_pem)):
        write_file(folder / name, data, 0o600)
    return aside


def trusted(flags: Values) -> None:
    """Note that the host has what trusts the authority in its folder."""
    (Path(flags.karmada_pki) / _UNTRUSTED).unlink(missing_ok=True)


def _move_aside(folder: Path) -> Path:
    """The key first: a certificate without one is no authority to anybody who comes after an interruption."""
    number = next(number for number in count(1) if not (folder / f"ca.key.{number}").exists())
    aside = (folder / "ca.key").rename(folder / f"ca.key.{number}")
    if (folder / "ca.crt").exists():
        (folder / "ca.crt").rename(folder / f"ca.crt.{number}")
    return aside


def _was_made_for(host: Access, flags: Values, folder: Path) -> bool:
    note = folder / _UNTRUSTED
    return note.exists() and note.read_text() == _place(host, flags)


def _place(host: Access, flags: Values) -> str:
    return f"{host.target.server} {flags.namespace}"


def _is_key_of(authority: "Authority", pem: bytes) -> bool:
    from karmada.apiserver.auth.pki import authority_key

    try:
        return authority_key(pem).public_key() == authority.key.public_key()
    except ValueError:
        return False


def _load(certificate: Path, key: Path, what: str) -> "Authority":
    from karmada.apiserver.auth.pki import Authority

    try:
        return Authority.load(certificate.read_bytes(), key.read_bytes())
    except (OSError, ValueError) as error:
        raise CommandError(f"{what} cannot be used: {spelled(error)}") from None


async def _installed(host: Access, namespace: str) -> bytes:
    """The certificate of the authority of the control plane in a namespace; empty if there is none."""
    try:
        found = await host.resource("", "v1", "secrets").get("karmada-ca", namespace)
    except NotFound:
        return b""
    return base64.b64decode((found.get("data") or {}).get("ca.crt", ""))
