/** Our forms in cells, which the kernel replaces and removes. */
const FORMS = '.autocode-questions, .autocode-strip, .autocode-inspector';

/** Parts in which arrow keys choose; the notebook would take them and go to another cell. */
const CHOICES = 'select, input[type="radio"]';

/** Keep what is typed and clicked in a form from the shortcuts of the notebook. */
export function keepKeys(form: HTMLElement): void {
  for (const kind of ['keydown', 'keypress', 'keyup', 'mousedown', 'dblclick']) {
    form.addEventListener(kind, event => event.stopPropagation());
  }
}

/** Let the keyboard reach what scrolls, as it can in a notebook that is trusted; the sanitizer removes that. */
export function reachScrolled(node: HTMLElement): void {
  for (const part of node.querySelectorAll<HTMLElement>('pre, [style*="overflow:auto"], [style*="overflow-x:auto"]')) {
    part.tabIndex = 0;
  }
}

/**
 * Keep the keyboard in the cell: arrow keys choose in our forms, and a form that is removed leaves the focus to its cell.
 *
 * @param root - the part of the page that has the notebooks.
 */
export function keepFocus(root: HTMLElement): void {
  root.addEventListener('focusin', event => {
    const part = event.target as HTMLElement;
    const cell = part.closest(FORMS)?.closest<HTMLElement>('.jp-Cell');
    if (!cell) {
      return;
    }
    if (part.matches(CHOICES)) {
      part.dataset.lmSuppressShortcuts = 'true';
    }
    const observer = new MutationObserver(() => {
      if (part.isConnected && document.activeElement === part) {
        return;
      }
      observer.disconnect();
      if (!part.isConnected && document.activeElement === document.body) {
        cell.focus({ preventScroll: true });
      }
    });
    observer.observe(cell, { childList: true, subtree: true });
  });
}
