"""Large captures made from a seed, and the race against tshark on them."""
