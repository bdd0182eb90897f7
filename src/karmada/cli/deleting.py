"""Waiting for what was deleted to be gone."""

import asyncio
from functools import partial

from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.progress import Waiting, until
from karmada.cli.session import Session
from karmada.cli.writing import Named
from karmada.machinery.errors import NotFound


async def until_gone(session: Session, flags: Values, deleted: list[tuple[Named, str]]) -> None:
    """Wait until objects of these identifiers are gone; `--timeout` limits it."""
    hub = session.hub(flags)

    async def gone(one: Named, uid: str) -> bool:
        try:
            found = await one.resource(hub, flags).get(one.name, one.namespace)
        except NotFound:
            return True
        return bool(found["metadata"].get("uid") != uid)

    left = [entry for entry in deleted if not await gone(*entry)]
    if not left:
        return
    limit = flags.timeout or None
    try:
        async with asyncio.timeout(limit):
            with Waiting(session, f"waiting until {left[0][0].spelled} is gone") as waiting:
                for one, uid in left:
                    waiting.say(f"waiting until {one.spelled} is gone")
                    await until(partial(gone, one, uid))
    except TimeoutError:
        names = ", ".join(one.spelled for one, _ in left)
        raise CommandError(f"timed out waiting for the condition on {names}") from None
