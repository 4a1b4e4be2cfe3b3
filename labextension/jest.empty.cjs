// Stands for style sheets and for the icons of JupyterLab, which are SVG as text.
module.exports = '<svg xmlns="http://www.w3.org/2000/svg"></svg>';
