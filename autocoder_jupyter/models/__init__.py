"""What the language model says: asking, structured answers, prompts' transport, cost, replay."""
