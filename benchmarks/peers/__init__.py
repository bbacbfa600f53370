"""The peers: each crawls the same site and writes the same fields as Lycosa."""
