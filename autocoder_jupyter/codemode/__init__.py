"""Code mode: a model answers by writing code, which runs in a small sandbox and calls the tools that the user gave.

    agent = CodeModeAgent([fetch_prices, latest_fx], model="openai/gpt-4.1")
    result = agent.run("What is the dearest stock in euros?")       # await agent.run.aio(…) on your own loop
    more = agent.run("And the second?", history=result.history)     # the code's variables still exist

The interface for displays:

- `AgentResult`: frozen; `summary`, `charts`, `value`, `output`, `code`, `blocks`, `calls`, `usage`, `state`,
  `error`, `history`, `run_id`, `notes`.
- `run(…, on_event=listener)`: called with the frozen records of `run.events`, on the loop's thread; `Finished` is last.
- `CodeModeAgent(approve=…)`: `approve(ApprovalRequest)`, async or blocking, answers `"allow"`, `"always"`,
  `"deny"` or `"never"`; the second and fourth hold for all calls of that tool by this agent.
- `run(…, history=result.history)` continues a conversation, also in another process: blocks of the history that are in
  the journal are run again with the recorded outcomes of their calls.
- `CodeModeAgent(cache=…)`: with `"auto"` the same request with the same history asks no model and calls no tool whose
  outcome is recorded in `.autocode/<name>/tools-<run>/`; `"override"` ignores records, `"disable"` records nothing.
  `locked=True` never asks a model.
- Cancelling the awaiting task, or an interrupt, ends the sandbox's process at once.

The files of the room:

- `agent`: the agent, its models and its result; `conversation`: one run, with the texts for the model
- `tools`: the user's functions as tools; `calls`: calls of tools, and the user's approval
- `tables`: what a program sees of tables; `operations`: what is computed on them
- `interpreter`, `interpreter_process`, `monty_session`: the sandbox, from the kernel down to Monty
- `values`: values between notebook, sandbox, record and text; `journal`: the record; `limits`: the limits of a program

Of an engine it imports only journal and budget.
"""

from __future__ import annotations

from autocoder_jupyter.codemode.agent import AgentResult, CodeModeAgent
from autocoder_jupyter.codemode.calls import ApprovalRequest, Decision
from autocoder_jupyter.codemode.limits import Limits
from autocoder_jupyter.codemode.tools import tool
from autocoder_jupyter.run.code_run import Block, ToolCall

__all__ = ["AgentResult", "ApprovalRequest", "Block", "CodeModeAgent", "Decision", "Limits", "ToolCall", "tool"]
