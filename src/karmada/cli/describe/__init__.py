"""Objects described in detail: `generic` for any kind, and the kinds people look at most in a form of their own."""
