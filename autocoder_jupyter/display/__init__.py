"""What the user sees: the card, the strip with buttons and the inspector, each as a document of `view`.

- `card`, `code_card`: the documents of a generation and of a run of code mode
- `parts`, `verified`, `outputs`, `charts`, `folds`: pieces of them, which the inspector shares
- `actions`: what can be done with a run, for cards, commands and the page; also the questions of a plan
- `strip`, `controls`: the live part below a card, and its buttons
- `live`: updates a card while a job runs, and shows it in an output
- `timeline`: the steps of a generation; `wait_line`: the line under a waiting cell
- `inspector/`: a finished result in tabs, or as one document

The record of a run comes from `run`.
"""
