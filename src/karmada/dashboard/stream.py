"""Server-sent events: a snapshot of every topic, then changes; a comment now and then shows that the stream lives."""

import asyncio
from collections.abc import AsyncIterator

from karmada.dashboard.answers import PRIVATE
from karmada.dashboard.board import Board
from karmada.dashboard.feed import Subscription
from karmada.dashboard.routes import Visit
from karmada.machinery.httpserver.model import StreamResponse

HEARTBEAT = 15.0
"""Seconds of silence at most. A session that has ended is noticed then, too."""


def stream_of(visit: Visit, board: Board, topics: frozenset[str]) -> StreamResponse:
    """The stream of some topics."""
    subscription = board.feed.subscribe(topics)
    return StreamResponse(
        200,
        _messages(visit, board, subscription),
        "text/event-stream",
        {**PRIVATE, "X-Accel-Buffering": "no"},
        ended=lambda: board.feed.unsubscribe(subscription),
    )


async def _messages(visit: Visit, board: Board, subscription: Subscription) -> AsyncIterator[bytes]:
    desk, sessions = visit.desk, visit.dashboard.sessions
    try:
        yield b"retry: 1000\n\n" + _snapshots(board, subscription)
        while not board.closed:
            desk.used = visit.dashboard.clock.monotonic()
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
                message = _snapshots(board, subscription)
            yield message
            if visit.session and sessions.find(visit.session, touch=False) is None:
                return
    finally:
        board.feed.unsubscribe(subscription)


def _snapshots(board: Board, subscription: Subscription) -> bytes:
    return b"".join(board.snapshot(topic) for topic in sorted(subscription.topics))
