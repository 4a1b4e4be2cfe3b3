"""Calls of a function with much data: how it may be split, and many inputs.

contract    how a function may be split, found in the sandbox and kept on this machine
items       the inputs of a map, and the chunks in which they travel
chunk       computes one chunk, in this process or in another one
mapped      the outcomes of a map
running     runs chunks, here or in an executor
map         `growth.map`
sources     tables that are read in batches
frames      rows of Arrow as a table of pandas
partition   divides rows by their keys into files
piece_calls calls the function for pieces, and compares the largest with their parts
alike       whether tables may be put together
answers     puts the answers of pieces together
over        `growth.over`
prepare     `growth.prepare`: builds environments on the machines of a Dask cluster, by a `dask_plugin`
versions_sent  the versions that the caller and the workers of an engine must share
on_dask     `growth.over` of a frame of Dask
on_spark    of a frame of Spark
on_ray      of a dataset of Ray
engine_pieces what these three share: the pieces that their workers compute
"""
