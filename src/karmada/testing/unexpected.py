"""Failures that retries hide: an error in a reconcile function that is neither an API's refusal nor a conflict.

A controller or the scheduler logs such an error with its traceback and tries again, and a server answers 500 to a
client that asks again, so everything may still end well. Tests and worlds listen for it: nothing of that sort is
expected anywhere.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOGGERS = (
    "karmada.machinery.controller",
    "karmada.machinery.supervisor",
    "karmada.machinery.informers.informer",
    "karmada.machinery.informers.reflector",
    "karmada.machinery.serving",
    "karmada.machinery.httpserver.server",
    "karmada.apiserver.http_dispatcher",
    "karmada.apiserver.watchcache.cache",
    "karmada.apiserver.watchcache.maintenance",
    "karmada.apiserver.storage.etcd.storage",
    "karmada.dashboard.server",
    "karmada.scheduler.service",
    "karmada.descheduler.service",
)
"""Who catches failures of reconcile functions, handlers, background tasks, listeners, decisions and requests."""


class UnexpectedFailures(logging.Handler):
    """Keeps what was logged with its traceback by those who catch failures."""

    def __init__(self, report: Callable[[str], None] = lambda failure: None) -> None:
        """`report` is called with each failure when it happens."""
        super().__init__(logging.WARNING)
        self._report = report
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a failure; giving up on a key is a decision, not a failure."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None or "a listener failed" in str(record.msg):
            self.found.append(f"{record.getMessage()}: {error!r}")
            self._report(self.found[-1])

    @contextmanager
    def listening(self) -> Iterator["UnexpectedFailures"]:
        """Keep what fails meanwhile."""
        loggers = [logging.getLogger(name) for name in _LOGGERS]
        for logger in loggers:
            logger.addHandler(self)
        try:
            yield self
        finally:
            for logger in loggers:
                logger.removeHandler(self)
