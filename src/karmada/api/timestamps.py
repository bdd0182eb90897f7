"""Points in time as Kubernetes writes them: `Time` to the second, `MicroTime` to the microsecond, always UTC."""

import re
from datetime import UTC, datetime

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


class TimestampError(ValueError):
    """Text that is no RFC 3339 time; `text` is the offender."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(f'not an RFC 3339 time such as 2006-01-02T15:04:05Z: "{text}"')


def parse(text: str) -> datetime:
    """Read a `Time` or `MicroTime`; any offset is accepted, digits beyond microseconds are dropped."""
    if _RFC3339.fullmatch(text):
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise TimestampError(text) from error
    raise TimestampError(text)


def to_time(moment: datetime) -> str:
    """The `Time` form, cut to the second: `2006-01-02T15:04:05Z`."""
    return _utc(moment).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"a time without a time zone is ambiguous: {moment.isoformat()}")
    return moment.astimezone(UTC)
