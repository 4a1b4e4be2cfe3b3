"""The writers of functions, one package each. They share `engine`, and none imports another."""
