"""What a verified function is worth: a second opinion, the strength of its tests, and whether it may be split.

Nothing here changes the verdict. A second, independent solution is written from the request and the data only, and
compared with the first on the sample and on variations of it. Small changes of the source show what the tests notice;
changes of the data show what must stay the same. A split is tried by comparing the answer for a whole table with the
answers for its pieces. `second_opinion`, `examiner` and `split` call the others in order.
"""
