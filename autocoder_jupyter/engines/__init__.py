"""The other ways in which a function gets written, one package each; what all of them share is in `engine`."""
