"""A finished function as something to call: signature, arguments, options, the call, cache, outputs."""
