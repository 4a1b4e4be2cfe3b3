"""The Claude Agent SDK as the author of code and tests."""
