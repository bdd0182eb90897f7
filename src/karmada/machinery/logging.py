"""Logs as text or JSON, with the verbosity levels (`-v`) that Kubernetes people know.

Code logs with the standard library: `logging.getLogger(__name__)`. Levels below INFO are spelled
`log.log(verbosity(4), ...)` and show with `-v=4` or more; DEBUG is `-v=10`. Fields go along as
`extra=fields(cluster="member1")`.
Tokens and private keys are blanked out on the way, whoever logs them.
"""

import logging
import re
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TextIO

import orjson

_SECRETS = re.compile(
    r"(?P<bearer>Bearer )[A-Za-z0-9._~+/=-]+"
    r"|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----.*?(?:-----END (?:[A-Z]+ )?PRIVATE KEY-----|\Z)"
    r"|(?P<param>[?&](?:token|access_token)=)[^&\s\"]+",
    re.DOTALL,
)


class Format(StrEnum):
    """How log lines look."""

    TEXT = "text"
    JSON = "json"


def verbosity(level: int) -> int:
    """The logging level of messages that show with `-v=<level>` or more."""
    return logging.INFO - level


def fields(**values: Any) -> dict[str, Any]:
    """Structured fields of a message, as its `extra`."""
    return {"fields": values}


def setup(level: int = 0, form: Format = Format.TEXT, stream: TextIO | None = None) -> None:
    """Send the logs of this package and of asyncio to a stream (stderr by default); called once by the process."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JSONFormatter() if form is Format.JSON else TextFormatter())
    for name, threshold in (("karmada", verbosity(level)), ("asyncio", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(threshold)
        logger.propagate = False


def without_secrets(text: str) -> str:
    """The text with tokens and private keys blanked out."""
    if "Bearer " not in text and "PRIVATE KEY" not in text and "token=" not in text:
        return text
    return _SECRETS.sub(lambda found: (found["bearer"] or found["param"] or "") + "[hidden]", text)


class TextFormatter(logging.Formatter):
    """`I1115 13:42:19.123456 scheduler.service:88] message key=value`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, followed by the traceback if there is one."""
        letter = "I" if record.levelno <= logging.INFO else record.levelname[0]
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%m%d %H:%M:%S.%f")
        where = f"{record.name.removeprefix('karmada.')}:{record.lineno}"
        line = f"{letter}{moment} {where}] {record.getMessage()}"
        line += "".join(f" {name}={_shown(value)}" for name, value in _fields(record).items())
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return without_secrets(line)


class JSONFormatter(logging.Formatter):
    """One JSON object per line, with the keys of Kubernetes' components: `ts` in milliseconds, `v` below warnings."""

    def format(self, record: logging.LogRecord) -> str:
        """Fields of the message beside `ts`, `level`, `logger`, `caller`, `msg`; `err` has the traceback."""
        entry: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "level": "info" if record.levelno <= logging.INFO else record.levelname.lower(),
            **({"v": logging.INFO - record.levelno} if record.levelno <= logging.INFO else {}),
            "logger": record.name,
            "caller": f"{record.filename}:{record.lineno}",
            "msg": without_secrets(record.getMessage()),
        }
        entry |= {name: _plain(value) for name, value in _fields(record).items() if name not in entry}
        if record.exc_info:
            entry["err"] = without_secrets(self.formatException(record.exc_info))
        return orjson.dumps(entry, default=str).decode()


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = getattr(record, "fields", {})
    return found


def _shown(value: Any) -> str:
    text = str(value)
    return f'"{text}"' if not text or any(character.isspace() for character in text) else text


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | None) else without_secrets(str(value))
