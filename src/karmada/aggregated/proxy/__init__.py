"""`clusters/<name>/proxy/<path>`: any request passed on to a member, in the name of whoever asked.

- `headers`: what goes along and what does not
- `exchange`: one HTTP request on a connection
- `upstream`: connections to members
- `handler`: one cluster; `fanout`: all of them
"""
