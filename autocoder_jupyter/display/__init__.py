"""What the user sees: the card, the strip with buttons, the inspector.

The card, a pure fold over events that is rendered as HTML or text (`run_state`: the state that both kinds of cards
share); the mime types of an output (`bundles`); HTML as a separate type (`html`, `markup`: common elements,
`widgets`); the strip below the card with the live `pane`; an agent's tool calls (`agent_state`: their state,
`tool_calls`: their HTML, `agent_part`: the card's row); the line under a waiting cell; `inspector/`: a finished
result in tabs or as static HTML, one module per section; `codemode/`: the card of code mode, `shown`: which of the
two cards is shown; `actions`: what can be done with a run, for cards, commands and the page.
"""
