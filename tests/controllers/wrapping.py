"""A transport around another one: what a test does not change is passed on."""


class Wrapping:
    """To be derived from; `around` is what the component it belongs to is given."""

    def __init__(self, inner, around):
        self._inner = inner
        self._clock = around.clock

    def __getattr__(self, name):
        return getattr(self._inner, name)
