"""Tests against live peers: what they counted must be what the capture tells us."""
