"""Calls of a function with much data: many inputs, and tables larger than the memory.

contract    how a function may be split, found in the sandbox and kept on this machine
items       the inputs of a map, and the chunks in which they travel
chunk       computes one chunk, in this process or in another one
mapped      the outcomes of a map
map         `growth.map`
parquet     reads a source of Parquet files in batches, and in buckets of whole groups
pieces      computes pieces, and compares the largest with their parts
over        `growth.over`
"""
