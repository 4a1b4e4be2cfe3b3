"""What a verified function is worth: a second opinion, the strength of its tests, and whether it may be split.

Nothing here changes the verdict, except that a doubt can add a test that the function fails.

- `second_opinion`: calls the parts of the second opinion in order, and decides what may be shown of it
- `second_writer`: writes the second solution from the request and the data only, and matches its outputs and columns
- `comparison`: compares both solutions on the sample and its variations
- `derivation`: the correct output of a small input, asked of a model that sees neither solution
- `readings`: how the second solution reads the request
- `examiner`: calls the layers that need no second solution, within the effort
- `mutants`, `sql_mutants`, `mutation`: mutations of the source, and which of them the tests catch
- `row_steps`, `rows_used`: an instrumented copy of the function, and which rows it used
- `losses`: what its calls lose or multiply, and whether a sentence speaks of it
- `assumed_rows`: how many rows an assumption leaves out
- `conditions`: whether the result depends on the clock, chance or the process
- `invariants`: changes of the data after which the result must be the same
- `added_tests`: tests that these add to the suite
- `split`, `pieces`: how a function may be split, and the pieces of tables that are compared
- `code_numbers`, `small_inputs`, `variations`: numbers in code that may limit rows, small inputs, varied samples
- `drawn`: what two figures show, as tables that can be compared
- `beyond`: variations that the profile of the sample does not have, and later data may
- `table_rows`, `enlarged`: rows and columns of a table, and tables with many more rows
- `units`: rows that belong together, which no variation tears
- `resamples`, `stability`: data drawn anew, and whether a conclusion holds on them
- `pace`: how long it would take for many more rows
- `time_limit`: how much processor time a layer may take
- `solution_worker`: the two solutions, each in its own worker
"""
