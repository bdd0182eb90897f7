"""What ends an explanation before it is done."""


class ExplainError(Exception):
    """The question cannot be answered: one sentence names the cause."""


class NoAnswer(ExplainError):
    """A member did not answer in time."""


class NoSuchKind(ExplainError):
    """The control plane does not serve a kind."""


class WouldBeRefused(ExplainError):
    """The control plane would not take an object."""


class NothingToPlace(ExplainError):
    """A simulation without a subject."""


class UnknownCluster(ExplainError):
    """A change of a cluster that is not there."""
