"""Whether a function may be split: the answer for a whole table is compared with the answers for its pieces.

No model is asked. The tables are the sample and its variations (`second_opinion.variations`).

    tables      which tables are compared, and how large they must be
    products    code in which large products of numbers are small ones
    pieces      ways to divide a table
    answers     what the function returns for a table, and whether two answers are the same
    check       tries the kinds of splits, the freest first
"""
