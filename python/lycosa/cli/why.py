"""``lycosa why``: one URL's whole story, from the log."""
