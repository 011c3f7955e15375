"""From tables to what a person reads."""
