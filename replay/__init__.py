"""Captured conversations played again to a live peer, and the two compared."""
