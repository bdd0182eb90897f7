"""Server-sent events: a snapshot of every topic, then changes; a comment now and then shows that the stream lives."""

import asyncio
from collections.abc import AsyncIterator

from karmada.dashboard.answers import PRIVATE
from karmada.dashboard.feed import Subscription
from karmada.dashboard.routes import Visit
from karmada.dashboard.view import View
from karmada.machinery.httpserver.model import StreamResponse

HEARTBEAT = 15.0
"""Seconds of silence at most. A session that has ended is noticed then, too."""


def stream_of(visit: Visit, view: View, topics: frozenset[str]) -> StreamResponse:
    """The stream of some topics."""
    subscription = view.subscribe(topics)
    return StreamResponse(
        200,
        _messages(visit, view, subscription),
        "text/event-stream",
        {**PRIVATE, "X-Accel-Buffering": "no"},
        ended=lambda: view.unsubscribe(subscription),
    )


async def _messages(visit: Visit, view: View, subscription: Subscription) -> AsyncIterator[bytes]:
    context, sessions = visit.context, visit.dashboard.sessions
    try:
        yield b"retry: 1000\n\n" + _snapshots(view, subscription)
        while not view.closed:
            context.used = visit.dashboard.clock.monotonic()
            try:
                async with asyncio.timeout(HEARTBEAT):
                    message = await subscription.messages.get()
            except TimeoutError:
                if visit.session and sessions.find(visit.session, touch=False) is None:
                    return
                yield b": still here\n\n"
                continue
            if message is None:
                return
            if subscription.behind:
                subscription.behind = False
                message = _snapshots(view, subscription)
            yield message
            if visit.session and sessions.find(visit.session, touch=False) is None:
                return
    finally:
        view.unsubscribe(subscription)


def _snapshots(view: View, subscription: Subscription) -> bytes:
    return b"".join(view.board.snapshot(topic) for topic in sorted(subscription.topics))
