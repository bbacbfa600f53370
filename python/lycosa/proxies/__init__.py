"""Proxies: lists of them, their check, and the ring from which each request gets one."""

from lycosa.proxies.proxy import BadLine, Parsed, Proxy, parse, parse_lines
from lycosa.proxies.ring import Ring

__all__ = ["BadLine", "Parsed", "Proxy", "Ring", "parse", "parse_lines"]
