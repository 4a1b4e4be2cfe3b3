"""What the model is told about the data, and how data crosses into a sandbox and back."""
