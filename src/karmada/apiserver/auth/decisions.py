"""The words of refusals: what a 403 of authorisation says."""

from karmada.apiserver import failures
from karmada.apiserver.auth.model import Attributes, Authorizer, UserInfo
from karmada.machinery.httpserver.failure import Failure


def forbidden(user: UserInfo, asked: Attributes, reason: str = "") -> Failure:
    """The 403 of a decision."""
    why = _message(user, asked)
    if reason:
        why = f"{why}: {reason}"
    if not asked.is_resource:
        return Failure(403, "Forbidden", f"forbidden: {why}", {})
    return failures.forbidden(asked.group, asked.resource, asked.name, why)


def require(authorizer: Authorizer, user: UserInfo, asked: Attributes) -> None:
    """Raise the 403 unless the user may."""
    decision = authorizer.authorize(user, asked)
    if not decision.allowed:
        raise forbidden(user, asked, decision.reason)


def _message(user: UserInfo, asked: Attributes) -> str:
    if not asked.is_resource:
        return f'User "{user.name}" cannot {asked.verb} path "{asked.path}"'
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    scope = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    return f'User "{user.name}" cannot {asked.verb} resource "{resource}" in API group "{asked.group}" {scope}'
