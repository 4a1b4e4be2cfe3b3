"""The language model: requests, structured answers, cost, replay."""
