"""One module per command; each holds a `COMMAND`. `catalog` lists them."""
