/** Of the text of a `%%autocode` cell, for JupyterLab's choice of a language. */
export const MIME_TYPE = 'text/x-autocode';
