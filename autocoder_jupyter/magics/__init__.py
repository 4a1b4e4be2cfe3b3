"""The notebook side: parse the cell, capture frames, bind the handle, line magics, completion."""
