"""What the user sees: the card, the strip with buttons, the inspector."""
