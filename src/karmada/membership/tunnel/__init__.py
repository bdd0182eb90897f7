"""The tunnel of a pull cluster: its agent opens it, the control plane sends requests through it.

- `frames`: the bytes of it
- `multiplexer`: many streams on one connection, each with a window of its own
- `tunnels`: the tunnels that are open, by cluster
"""
