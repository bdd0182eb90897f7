"""Scripts of users, run in worker processes that can be killed.

`pool` gives calls to workers and takes away what does not answer in time, `worker` is the process, `sandbox.lua` what a
script can see, `tables` how trees become Lua tables and back, `kube` the helper module, `level` the interpreter level.
"""
