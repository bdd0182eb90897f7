"""Headers of a request that is passed on: the caller's identity is derived here and nowhere else.

Whatever a client says about identity (its credentials, impersonation, front-proxy headers) stays here. The member hears
of the user as whom the request was authorised, under the impersonator's own credentials.
"""

from collections.abc import Iterable, Mapping

from karmada.apiserver.aggregation.proxy import is_identity, without_token
from karmada.apiserver.auth.model import UserInfo
from karmada.machinery.http.head import HOP_BY_HOP, identity_value, is_field_value

_CREDENTIALS = frozenset({"authorization", "cookie", "sec-websocket-protocol"})
_ACCOUNT, _ACCOUNT_GROUPS = "system:serviceaccount:", "system:serviceaccounts"
_EVERYBODY = frozenset({"system:authenticated", "system:unauthenticated"})


def passed_on(
    headers: Mapping[str, str], user: UserInfo, token: bytes, host: str, protocol: str
) -> list[tuple[str, str]]:
    """The headers of the request to the member, which may switch to a protocol if one is given.

    Raises `UnsafeHead` for a user who cannot be named in a header.
    """
    fields = [("Host", host)]
    if protocol:
        fields += [("Connection", "Upgrade"), ("Upgrade", protocol)]
        if protocols := without_token(headers.get("sec-websocket-protocol", "")):
            fields.append(("Sec-WebSocket-Protocol", protocols))
    else:
        fields.append(("Connection", "close"))
    for name, value in headers.items():
        if name not in HOP_BY_HOP and name not in _CREDENTIALS and not is_identity(name):
            fields.append((name, value))
    if token:
        fields.append(("Authorization", f"Bearer {token.decode('ascii').strip()}"))
    return fields + impersonation(user)


def impersonation(user: UserInfo) -> list[tuple[str, str]]:
    """A user in the words of impersonation; groups that follow from who it is are the member's to give."""
    groups = [group for group in user.groups if group not in _EVERYBODY]
    if user.name.startswith(_ACCOUNT):
        groups = [group for group in groups if not group.startswith(_ACCOUNT_GROUPS)]
    named = [("Impersonate-User", user.name), *(("Impersonate-Group", group) for group in groups)]
    return [(name, identity_value(name, value)) for name, value in named]


def answered(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers of the member's answer that go to the client."""
    left_out = HOP_BY_HOP | {"content-type", "date"}
    kept: dict[str, str] = {}
    for name, value in headers:
        if name not in left_out and is_field_value(value):
            kept[name] = f"{kept[name]}, {value}" if name in kept else value
    return kept
