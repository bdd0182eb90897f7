"""The dashboard: a federation seen in a browser, and asked why.

It has no rights of its own: every read and write is a request to the API server with the credential of whoever is
signed in (`upstream`). `server` answers all paths below `/dashboard` by the table in `routes`, where each route says
what it demands; `sessions` and `guard` decide who is asking and whether a browser was tricked into it; `board` follows
the collections of one credential and feeds the event streams of all its tabs.
"""
