"""Tools for who works on Lycosa."""
