"""The language model: requests, structured answers, transport of prompts, cost, replay."""
