"""The pages and files of the bundle."""

from karmada.dashboard.answers import Refusal
from karmada.dashboard.routes import Visit
from karmada.machinery.httpserver.model import HttpResponse


async def index(visit: Visit) -> HttpResponse:
    """Every page is the same document; its script shows what its address asks for."""
    return visit.dashboard.static.index()


async def file(visit: Visit) -> HttpResponse:
    """A file of the bundle."""
    found = visit.dashboard.static.file(visit.arguments["rest"])
    if found is None:
        raise Refusal(404, "NotFound", "there is no such file")
    return found
