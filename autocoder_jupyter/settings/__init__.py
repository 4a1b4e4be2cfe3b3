"""What can be set: each setting once (`config`), how a cell writes it (`option`), what follows from it (`setting`)."""
