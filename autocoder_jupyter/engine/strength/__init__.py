"""What the tests of a verified function are worth. Nothing here changes the verdict.

mutants     small changes of the source, as somebody makes them by mistake in work with data
mutation    runs the tests on those that change an answer
survivors   asks for tests of changes that no test noticed
examiner    calls these in order, within the effort of the request
"""
