"""What tests look at when they ask what a controller did: its events, its writes and how often it reconciled."""

from karmada.machinery.transport import GroupVersionResource, Verb

EVENTS = GroupVersionResource("", "v1", "events")
READING = (Verb.GET, Verb.LIST, Verb.WATCH)


async def events(plane):
    """Type, reason and message of all events."""
    found = (await plane.client.resource(EVENTS).list()).items
    return {(event["type"], event["reason"], event["message"]) for event in found}


def reconciles(controller):
    """How often a controller has reconciled anything."""
    return sum(controller.results.values())


async def does(plane, controller, *steps):
    """How often a controller reconciles after each step."""
    counts = []
    for step in steps:
        await plane.clock.sleep(5)
        before = reconciles(controller)
        await step
        await plane.clock.sleep(5)
        counts.append(reconciles(controller) - before)
    return counts


def once(plane, verb, type_, act):
    """Do something just before the first request of the controller's with a verb on a collection."""
    waiting = [act]

    async def before(request):
        if waiting and request.verb is verb and request.resource == type_:
            await waiting.pop()()

    plane.transport.before = before


def refused(plane, error, *types, verbs=()):
    """Have writes of the controller to some collections fail until `plane.transport.before` is None again."""

    async def before(request):
        if request.resource in types and (request.verb in verbs if verbs else request.verb not in READING):
            raise error

    plane.transport.before = before
