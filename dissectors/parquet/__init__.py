"""Parquet files straight from cells, written as fast as the rows are made.

Arrow's own writer serves any schema and spends more on each value than the dissection does on the
frame that it came from. This one knows our kinds of columns, writes each of them in one way, and
leaves reading to others. It knows nothing of what the tables mean.
"""
