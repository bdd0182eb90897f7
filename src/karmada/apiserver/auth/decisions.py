"""The words of refusals: what a 403 of authorisation says."""

from karmada.apiserver import failures
from karmada.apiserver.auth.model import Attributes, Authorizer, UserInfo
from karmada.machinery.httpserver.failure import Failure


def forbidden(user: UserInfo, attributes: Attributes, reason: str = "") -> Failure:
    """The 403 of a decision."""
    why = _message(user, attributes)
    if reason:
        why = f"{why}: {reason}"
    if not attributes.is_resource:
        return Failure(403, "Forbidden", f"forbidden: {why}", {})
    return failures.forbidden(attributes.group, attributes.resource, attributes.name, why)


def require(authorizer: Authorizer, user: UserInfo, attributes: Attributes) -> None:
    """Raise the 403 unless the user may."""
    decision = authorizer.authorize(user, attributes)
    if not decision.allowed:
        raise forbidden(user, attributes, decision.reason)


def _message(user: UserInfo, attributes: Attributes) -> str:
    if not attributes.is_resource:
        return f'User "{user.name}" cannot {attributes.verb} path "{attributes.path}"'
    resource = f"{attributes.resource}/{attributes.subresource}" if attributes.subresource else attributes.resource
    scope = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
    return (
        f'User "{user.name}" cannot {attributes.verb} resource "{resource}" in API group "{attributes.group}" {scope}'
    )
