"""`AutoCoderAgent`: frozen settings of generations, and `generate()`.

The package may import `engine`, `engines`, `models`, `result` and what is below them. This file imports nothing: code
mode takes `place` without pandas.

- `agent`: `AutoCoderAgent`, and `load` for recorded functions; `constructor` has its parameters and is generated
- `settings`, `arguments`: check settings, and make a `Request` from the arguments of `generate()`
- `helpers`: the helpers of a request, with functions that were verified before
- `databases`: the tables that stand for a connection among the data of a request
- `generation`: one generation: model, sandbox, engine
- `place`: where `.autocode` is
"""
