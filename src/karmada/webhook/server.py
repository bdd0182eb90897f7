"""The HTTPS server that API servers ask: one path per handler and kind of question, and `/convert`."""

import logging
import ssl
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import orjson
from aiohttp import web

from karmada.machinery.metrics import Histogram
from karmada.webhook.agents import PATH, judge_agent
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.reviews import Answer, BadReview, Settings, answered, converting, mutating, validating

if TYPE_CHECKING:
    from prometheus_client.core import Metric

log = logging.getLogger(__name__)

LARGEST_BODY = 8 * 2**20
"""A review holds an object twice, and API servers store none above 1.5 MiB."""


def answers(settings: Settings) -> dict[str, Answer]:
    """Who answers at which path."""
    found: dict[str, Answer] = {"/convert": converting, PATH: judge_agent}
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
    """Serves the handlers."""

    def __init__(self, settings: Settings) -> None:
        self.figures = Figures()
        self._answers = answers(settings)
        self._runner: web.AppRunner | None = None

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Start serving; the port it serves on."""
        application = web.Application(client_max_size=LARGEST_BODY)
        application.router.add_get("/readyz", _ready)
        application.router.add_post("/{path}", self._respond)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, ssl_context=tls).start()
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """Stop serving, after what is being answered."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _respond(self, request: web.Request) -> web.Response:
        answer = self._answers.get(request.path)
        if answer is None:
            return web.Response(status=404, text="no webhook has this path\n")
        started = time.monotonic()
        response = await _answer(request, answer)
        self.figures.note(request.path, response.status, time.monotonic() - started)
        return response


async def _answer(request: web.Request, answer: Answer) -> web.Response:
    try:
        document = await answered(await request.read(), answer)
    except BadReview as error:
        return web.Response(status=400, text=f"{error}\n")
    except web.HTTPException:
        raise
    except Exception as error:
        # The object may hold secrets, and an error may quote it: the log has the question and the place only.
        place = "".join(traceback.format_tb(error.__traceback__))
        log.error("a review at %s failed with %s:\n%s", request.path, type(error).__name__, place)
        return web.Response(status=500, text="internal error\n")
    return web.Response(body=orjson.dumps(document), content_type="application/json")


async def _ready(_: web.Request) -> web.Response:
    return web.Response(text="ok")
