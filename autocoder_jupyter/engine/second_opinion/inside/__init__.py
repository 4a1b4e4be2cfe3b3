"""What runs in the sandbox, beside both solutions. It imports pandas, numpy and the standard library, and itself."""
