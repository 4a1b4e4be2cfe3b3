"""A second, independent solution of the same request, and what it shows about the first.

It is written from the request and the data alone, beside the plan. Both solutions run in the sandbox on the sample and
on variations of it. Where they differ, somebody reads the request otherwise, or one of them is wrong:

    writer      asks for the second solution
    trial       runs both in the sandbox; the part that runs there is `inside`
    derivation  asks what a small input that tells them apart must give, showing neither result
    naming      asks how the second one reads the request, in words that the user can choose
    findings    the record that card and report show
    opinion     one after the other
"""
