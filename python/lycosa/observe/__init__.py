"""What a running crawl tells of itself: logs, metrics, traces, reports, and what is stuck."""
