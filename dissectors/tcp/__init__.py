"""TCP: from segments in any order to two streams of bytes and gaps, in causal order."""
