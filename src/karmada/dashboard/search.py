"""Search over all members, where karmada-search is there: it shows each user what they may read in each member."""

from typing import Any
from urllib.parse import urlencode

import orjson

from karmada.dashboard.answers import Refusal
from karmada.dashboard.routes import Visit
from karmada.machinery.errors import NotFound

PATH = "/apis/search.karmada.io/v1alpha1/search/query"
LONGEST = 1000


async def search(visit: Visit) -> Any:
    """What matches a query."""
    if not visit.dashboard.search:
        raise Refusal(404, "NotFound", "search is switched off: start the control plane with --enable-search")
    query = {"q": visit.params.get("q", "")[:LONGEST], "limit": visit.params.get("limit") or "100"}
    try:
        found = orjson.loads(await visit.context.hub.transport.raw("GET", f"{PATH}?{urlencode(query)}"))
    except NotFound:
        raise Refusal(404, "NotFound", "the control plane has no karmada-search: install it first") from None
    return found["items"]
