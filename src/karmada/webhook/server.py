"""The HTTPS server that API servers ask: one path per handler and kind of question, and `/convert`."""

import logging
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import orjson

from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
from karmada.machinery.httpserver.parsing import Limits
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.metrics import Histogram
from karmada.webhook.agents import PATH, judge_agent
from karmada.webhook.configurations import CONVERSION
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.reviews import Answer, BadReview, Settings, answered, converting, mutating, validating

if TYPE_CHECKING:
    from OpenSSL import SSL
    from prometheus_client.core import Metric

log = logging.getLogger(__name__)

LARGEST_BODY = 8 * 2**20
"""A review holds an object twice, and API servers store none above 1.5 MiB."""


def answers(settings: Settings) -> dict[str, Answer]:
    """Who answers at which path."""
    found: dict[str, Answer] = {CONVERSION: converting, PATH: judge_agent}
    for handler in HANDLERS:
        if handler.mutate is not None:
            found[handler.mutate_path] = mutating(handler, settings)
        if handler.validate is not None:
            found[handler.validate_path] = validating(handler, settings)
    return found


class Figures:
    """Counts and durations of answers by path, as controller-runtime spells them."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, Histogram] = {}

    def note(self, path: str, code: int, seconds: float) -> None:
        """Count an answer."""
        self.answers[path, code] += 1
        self.seconds.setdefault(path, Histogram()).observe(seconds)

    def collect(self) -> Iterator["Metric"]:
        """All figures now."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        totals = CounterMetricFamily(
            "controller_runtime_webhook_requests", "Reviews by answer", labels=["webhook", "code"]
        )
        latency = HistogramMetricFamily(
            "controller_runtime_webhook_latency_seconds", "Time of a review", labels=["webhook"]
        )
        for (path, code), count in self.answers.items():
            totals.add_metric([path, str(code)], count)
        for path, histogram in self.seconds.items():
            latency.add_metric([path], histogram.cumulative(), histogram.total)
        yield from (totals, latency)


class WebhookServer:
    """Serves the handlers; a context set as `tls` is served to the connections that come after it."""

    def __init__(self, settings: Settings) -> None:
        self.figures = Figures()
        self._answers = answers(settings)
        self._http = HttpServer(self._respond, limits=Limits(body=LARGEST_BODY))

    async def listen(self, host: str, port: int, tls: "SSL.Context | None") -> int:
        """Start serving; the port it serves on."""
        self._http.tls = tls
        return await self._http.listen(host, port)

    def renew(self, tls: "SSL.Context") -> None:
        """Serve new connections with another certificate; those that are open keep theirs."""
        self._http.tls = tls

    async def close(self) -> None:
        """Stop serving, after what is being answered."""
        await self._http.stop()

    async def _respond(self, request: HttpRequest) -> HttpResponse:
        if request.path == "/readyz" and request.method == "GET":
            return _text(200, "ok")
        answer = self._answers.get(request.path)
        if answer is None:
            return _text(404, "no webhook has this path\n")
        if request.method != "POST":
            return _text(405, "reviews are sent by POST\n")
        started = time.monotonic()
        response = await _answer(request, answer)
        self.figures.note(request.path, response.status, time.monotonic() - started)
        return response


async def _answer(request: HttpRequest, answer: Answer) -> HttpResponse:
    try:
        document = await answered(request.body, answer)
    except BadReview as error:
        return _text(400, f"{error}\n")
    except Exception as error:
        # The object may hold secrets, and an error may quote it: the log has the question and the place only.
        place = "".join(traceback.format_tb(error.__traceback__))
        log.error("a review at %s failed with %s:\n%s", request.path, type(error).__name__, place)
        return _text(500, "internal error\n")
    return HttpResponse(200, orjson.dumps(document))


def _text(status: int, text: str) -> HttpResponse:
    return HttpResponse(status, text.encode(), "text/plain; charset=utf-8")
