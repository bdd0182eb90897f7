"""How long a request may take: the `timeout` parameter of ordinary ones, `timeoutSeconds` of watches."""

from collections.abc import Callable, Mapping

from karmada.api import duration
from karmada.apiserver.failures import Failure, bad_request

REQUEST_SECONDS = 60.0
WATCH_SECONDS = 1800.0


def request_seconds(params: Mapping[str, str], limit: float = REQUEST_SECONDS) -> float:
    """Seconds an ordinary request may take; raises 400 for an unreadable wish, cuts a longer one."""
    wish = params.get("timeout", "")
    if not wish:
        return limit
    try:
        seconds = duration.seconds(wish)
    except ValueError:
        raise _unreadable(wish) from None
    return limit if seconds == 0 else min(seconds, limit)


def watch_seconds(params: Mapping[str, str], random: Callable[[], float], minimum: float = WATCH_SECONDS) -> float:
    """Seconds a watch may last: what the client asks for, else between one and two times `minimum`, so that
    the watches of one moment do not all end in one moment."""
    wish = params.get("timeoutSeconds", "")
    if wish:
        try:
            seconds = int(wish)
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{wish}": invalid syntax') from None
        if seconds > 0:
            return float(seconds)
    return minimum * (1.0 + random())


def _unreadable(wish: str) -> Failure:
    return bad_request(f'invalid timeout specified in the request URL - "{wish}" is not a duration')
