"""The log's followers: sinks and the threads that feed them."""
