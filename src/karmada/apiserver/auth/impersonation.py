"""Acting as somebody else: the `Impersonate-*` headers, each of which the requester must be allowed to use."""

from collections.abc import Mapping
from urllib.parse import unquote

from karmada.apiserver.auth.decisions import forbidden
from karmada.apiserver.auth.model import ANONYMOUS, Attributes, Authorizer, UserInfo
from karmada.apiserver.auth.rules import quoted
from karmada.apiserver.auth.service_accounts import group_names, split_user_name
from karmada.machinery.httpserver.failure import Failure, bad_request

AUTHENTICATION = "authentication.k8s.io"
EXTRA_PREFIX = "impersonate-extra-"
_MARK = "impersonate-"


def impersonate(authorizer: Authorizer, requester: UserInfo, headers: Mapping[str, str]) -> UserInfo:
    """The identity a request acts as: the requester's own without such headers. Raises 400 or 403."""
    if _MARK not in " ".join(headers):
        return requester
    user = headers.get("impersonate-user", "")
    groups = _values(headers.get("impersonate-group", ""))
    uid = headers.get("impersonate-uid", "")
    extra = _extra(headers)
    if not user:
        if groups or uid or extra:
            raise _without_user(groups, uid, extra)
        return requester
    account = split_user_name(user)
    if account is not None:
        namespace, name = account
        _check(authorizer, requester, Attributes("impersonate", "", "v1", "serviceaccounts", "", namespace, name))
    else:
        _check(authorizer, requester, Attributes("impersonate", "", "v1", "users", name=user))
    for group in groups:
        _check(authorizer, requester, Attributes("impersonate", "", "v1", "groups", name=group))
    for key, values in extra.items():
        for value in values:
            attributes = Attributes("impersonate", AUTHENTICATION, "v1", "userextras", key, name=value)
            _check(authorizer, requester, attributes)
    if uid:
        _check(authorizer, requester, Attributes("impersonate", AUTHENTICATION, "v1", "uids", name=uid))
    if account is not None and not groups:
        groups = list(group_names(account[0]))
    return UserInfo(user, _completed(user, groups), uid, extra)


def _check(authorizer: Authorizer, requester: UserInfo, attributes: Attributes) -> None:
    decision = authorizer.authorize(requester, attributes)
    if not decision.allowed:
        raise forbidden(requester, attributes, decision.reason)


def _completed(user: str, groups: list[str]) -> tuple[str, ...]:
    if user == ANONYMOUS.name:
        missing = ANONYMOUS.groups[0]
    elif ANONYMOUS.groups[0] in groups:
        return tuple(groups)
    else:
        missing = "system:authenticated"
    return tuple(groups) if missing in groups else (*groups, missing)


def _extra(headers: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {
        unquote(name.removeprefix(EXTRA_PREFIX)): tuple(_values(value))
        for name, value in headers.items()
        if name.startswith(EXTRA_PREFIX)
    }


def _values(header: str) -> list[str]:
    return header.split("\n") if header else []


def _without_user(groups: list[str], uid: str, extra: Mapping[str, tuple[str, ...]]) -> Failure:
    """The message shows the wanted identity as Go prints the struct."""
    shown_groups = "[]string{" + ", ".join(f'"{group}"' for group in groups) + "}" if groups else "[]string(nil)"
    entries = ", ".join(f'"{key}":[]string{{{_comma(values)}}}' for key, values in sorted(extra.items()))
    shown_extra = f"map[string][]string{{{entries}}}" if extra else "map[string][]string(nil)"
    wanted = f'&user.DefaultInfo{{Name:"", UID:"{uid}", Groups:{shown_groups}, Extra:{shown_extra}}}'
    return bad_request(f"requested {wanted} without impersonating a user name")


def _comma(values: tuple[str, ...]) -> str:
    return quoted(values)[1:-1].replace('" "', '", "')
