"""The ways to write a function, one package each. They share `engine`, and none imports another."""
