"""The process runtime: containers of known images run as local processes, on loopback addresses of their own."""
