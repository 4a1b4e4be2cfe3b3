"""What a person sees: the card, the control strip, the static forms."""
