"""The compiled hot path's common ground: row buffers and integer reading.

Modules with a ``.pxd`` beside them are compiled by Cython when a C compiler is there at install
time and run as plain Python otherwise, with the same results.
"""
