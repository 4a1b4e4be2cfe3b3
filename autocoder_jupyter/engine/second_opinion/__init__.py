"""A second, independent solution of the same request, which is compared with the first.

It is written only from the request and the data, at the same time as the plan. Both solutions run in the sandbox on the
sample and on variations of it. If they differ, they read the request differently, or one of them is wrong:

    writer      asks for the second solution
    trial       compares both on the sample and its variations; `sides` runs each in a worker of its own
    derivation  asks for the correct output for a small input on which they differ, and shows neither result
    naming      asks how the second one reads the request, as text that the user can choose
    findings    the record that card and report show
    opinion     calls these in order
"""
