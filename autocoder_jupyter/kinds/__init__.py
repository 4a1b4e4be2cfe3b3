"""The types of inputs and outputs: one record per type (`table`), and the classes `File`, `Dir` and `Figure`.

The types of inputs and outputs (`DataFrame`, `date`, `File` …), one record per type: annotation, class, check,
parser, display; `values`: `File`, `Dir`, `Figure`; `element_types`: the element types of lists and dicts.
"""
