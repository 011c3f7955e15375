"""The command line: one command per file, which parses, calls the library and prints."""
