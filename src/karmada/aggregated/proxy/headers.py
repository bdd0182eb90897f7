"""Headers of a request that is passed on: the caller's identity is derived here and nowhere else.

Whatever a client says about identity (its credentials, impersonation, front-proxy headers) stays here. The member hears
of the user as whom the request was authorised, under the impersonator's own credentials.
"""

from collections.abc import Iterable, Mapping

from karmada.apiserver.auth.model import UserInfo

_HOP_BY_HOP = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_IDENTITY = ("impersonate-", "x-remote-")
_ACCOUNT, _ACCOUNT_GROUPS = "system:serviceaccount:", "system:serviceaccounts"
_EVERYBODY = frozenset({"system:authenticated", "system:unauthenticated"})


def passed_on(headers: Mapping[str, str], user: UserInfo, token: bytes, host: str, upgrade: bool) -> list[str]:
    """The header lines of the request to the member."""
    lines = [f"Host: {host}"]
    if upgrade:
        lines += ["Connection: Upgrade", f"Upgrade: {headers.get('upgrade', '')}"]
    else:
        lines.append("Connection: close")
    for name, value in headers.items():
        if name not in _HOP_BY_HOP and name not in ("authorization", "cookie") and not name.startswith(_IDENTITY):
            lines.append(f"{name}: {value}")
    if token:
        lines.append(f"Authorization: Bearer {token.decode('ascii').strip()}")
    return lines + impersonation(user)


def impersonation(user: UserInfo) -> list[str]:
    """A user in the words of impersonation; groups that follow from who it is are the member's to give."""
    groups = [group for group in user.groups if group not in _EVERYBODY]
    if user.name.startswith(_ACCOUNT):
        groups = [group for group in groups if not group.startswith(_ACCOUNT_GROUPS)]
    return [f"Impersonate-User: {_line(user.name)}", *(f"Impersonate-Group: {_line(group)}" for group in groups)]


def answered(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers of the member's answer that go to the client."""
    left_out = _HOP_BY_HOP | {"content-type", "date"}
    kept: dict[str, str] = {}
    for name, value in headers:
        if name not in left_out:
            kept[name] = f"{kept[name]}, {value}" if name in kept else value
    return kept


def _line(text: str) -> str:
    return text.replace("\r", "").replace("\n", "")
