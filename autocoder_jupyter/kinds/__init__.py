"""The types of inputs and outputs, such as `DataFrame`, `date` or `File`.

Code that treats types differently asks their record. The package may import `errors` and `untrusted` only.

- `table`: one record per type, and the element types of lists and dicts
- `paths`: whether a text is a path or an address
- `values`: the classes `File`, `Dir` and `Figure`, and the checks and conversions that the records refer to
"""
