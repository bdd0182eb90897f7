"""The authority of a control plane that `karmadactl init` makes: which one it is, and where its key is kept.

The key is in no Secret: a folder on the machine of whoever installs has the only copy. A run that goes on where another
one ended uses the same authority, no run replaces that of a control plane that is there, and none loses a key.
"""

import base64
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from karmada.cli.access import Access
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.machinery.errors import NotFound

if TYPE_CHECKING:
    from karmada.apiserver.auth.pki import Authority


async def authority_for(host: Access, flags: Values) -> "Authority":
    """The authority that the flags name, that of the control plane that is there, or a new one."""
    from karmada.apiserver.auth.pki import Authority

    if bool(flags.ca_cert_file) != bool(flags.ca_key_file):
        raise CommandError("--ca-cert-file and --ca-key-file go together")
    folder = Path(flags.karmada_pki)
    there = await _installed(host, flags.namespace)
    kept = _load(folder / "ca.crt", folder / "ca.key", f"the authority in {folder}") if _is_kept(folder) else None
    if flags.ca_cert_file:
        given = Path(flags.ca_cert_file), Path(flags.ca_key_file)
        found = _load(*given, "--ca-cert-file and --ca-key-file")
    else:
        found = kept if kept is not None and there else Authority.create("karmada")
    if there and found.certificate_pem != there:
        raise CommandError(
            f"namespace {flags.namespace} has a control plane of another authority: name the folder that has its "
            "ca.key with --karmada-pki, or remove it with karmadactl deinit"
        )
    return found


def keep(folder: Path, authority: "Authority") -> Path | None:
    """Write an authority to its folder, before anything trusts it: who is interrupted has its key. One that is there is
    moved aside, as another control plane may have it; where its key is then."""
    from karmada.apiserver.auth.pki import write_file

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    wanted = {"ca.crt": authority.certificate_pem, "ca.key": authority.key_pem}
    aside = None
    if _is_kept(folder) and (folder / "ca.key").read_bytes() != authority.key_pem:
        number = next(number for number in count(1) if not (folder / f"ca.key.{number}").exists())
        aside = folder / f"ca.key.{number}"
        for name in wanted:
            (folder / name).rename(folder / f"{name}.{number}")
    for name, data in wanted.items():
        write_file(folder / name, data, 0o600)
    return aside


def _is_kept(folder: Path) -> bool:
    return (folder / "ca.key").exists()


def _load(certificate: Path, key: Path, what: str) -> "Authority":
    from karmada.apiserver.auth.pki import Authority

    try:
        return Authority.load(certificate.read_bytes(), key.read_bytes())
    except ValueError as error:
        raise CommandError(f"{what} cannot be used: {error}") from None


async def _installed(host: Access, namespace: str) -> bytes:
    """The certificate of the authority of the control plane in a namespace; empty if there is none."""
    try:
        found = await host.resource("", "v1", "secrets").get("karmada-ca", namespace)
    except NotFound:
        return b""
    return base64.b64decode((found.get("data") or {}).get("ca.crt", ""))
