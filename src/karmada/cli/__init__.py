"""Commands: flags and output. The rules live in the packages below."""
