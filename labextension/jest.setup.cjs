// What JupyterLab's packages need of a browser when they are imported, and jsdom does not have.
globalThis.DragEvent ??= class DragEvent extends Event {};
globalThis.matchMedia ??= () => ({ matches: false, addEventListener: () => undefined, addListener: () => undefined });
// Editors measure their text again and again; here it has no place.
globalThis.Range.prototype.getClientRects ??= () => [];
