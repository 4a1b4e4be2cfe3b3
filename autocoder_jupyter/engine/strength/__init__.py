"""What the tests of a verified function are worth. Nothing here changes the verdict.

mutants     small changes of the source, as somebody makes them by mistake in work with data
mutation    runs the tests on those that change an answer
survivors   asks for tests of changes that no test noticed
conditions  whether the result depends on the clock, chance or the process
relations   changes of the data after which the result must be the same
other_inputs  errors on other inputs, and the user's checks there
examiner    calls these in order, within the effort of the request
"""
