"""Topic `cronfederatedhpa`: the next runs of a schedule."""

from typing import Any

from karmada.api import cron, timestamps
from karmada.testing.golden.case import Failed, Topic


def _next_runs(given: dict[str, Any]) -> dict[str, Any]:
    try:
        schedule = cron.parse(given["schedule"], given.get("timeZone", ""))
    except cron.CronError as error:
        raise Failed(str(error)) from error
    moment = timestamps.parse(given["now"])
    runs = []
    for _ in range(given["count"]):
        run = schedule.next_run(moment)
        if run is None:
            runs.append("never")
            break
        runs.append(timestamps.to_time(run))
        moment = run
    return {"runs": runs}


TOPIC = Topic("cronfederatedhpa", {"cronfederatedhpa.NextRuns": _next_runs})
