"""What the user sees: the card, the strip with buttons, the inspector, each as a document of `view`.

The record of a run comes from `run`. `card` and `codemode/card` make its document (`phases`: titles and tones),
`shown` selects one of them; `parts`, `changes`, `readings`, `tool_calls`, `agent_part`, `sample_outputs`, `folds` and
`next_steps` are pieces of it. `actions`: what can be done with a run, for cards, commands and the page. `live`
updates the views of a run: `view` (the card in an output), `controls` (the strip with the live `pane`) and those of a
page; `bundles` has the mime types. `inspector/`: a finished result in tabs, or as one document, with a module for
each section. `wait_line`: the line under a waiting cell.
"""
