"""How long an ordinary request may take: what its `timeout` parameter says, at most a minute."""

from collections.abc import Mapping

from karmada.api import duration
from karmada.apiserver.failures import bad_request

LIMIT = 60.0


def request_seconds(params: Mapping[str, str], limit: float = LIMIT) -> float:
    """Seconds a request may take; raises 400 for an unreadable wish, cuts a longer one."""
    wish = params.get("timeout", "")
    if not wish:
        return limit
    try:
        seconds = duration.seconds(wish)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None
    return min(seconds, limit) if seconds > 0 else limit
