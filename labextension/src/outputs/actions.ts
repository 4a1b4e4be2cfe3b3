import { Clipboard } from '@jupyterlab/apputils';
import type { IDisposable } from '@lumino/disposable';

import { toggleWishBox, wishButton } from './wishBox';

/** How long a button says that it was done, in milliseconds. */
const SAID = 2000;

/** Does what the buttons inside our outputs offer: copy a source text, insert it as a cell, or take a wish. */
export class ActionListener implements IDisposable {
  /**
   * @param node where clicks are listened for
   * @param insert puts a source text into a new cell, given the button
   * @param grant puts a cell that grants a wish into the notebook and runs it, given the button
   * @param refineCell runs the cell of a button again, from the function that is there
   */
  constructor(
    private readonly _node: HTMLElement,
    private readonly _insert: (source: string, button: HTMLElement) => void,
    private readonly _grant: (source: string, button: HTMLElement) => void,
    private readonly _refineCell: (button: HTMLElement) => void = () => undefined
  ) {
    _node.addEventListener('click', this._onClick);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._node.removeEventListener('click', this._onClick);
  }

  private readonly _onClick = (event: MouseEvent): void => {
    const button =
      (event.target as Element | null)?.closest?.<HTMLElement>(
        'button.autocode-action, button.autocode-wish, button.autocode-refine-cell'
      ) ?? null;
    if (button?.classList.contains('autocode-refine-cell')) {
      event.preventDefault();
      this._refineCell(button);
      return;
    }
    if (button !== null && wishButton(button) !== null) {
      event.preventDefault();
      toggleWishBox(button, cell => this._grant(cell, button));
      return;
    }
    const source = button === null ? null : sourceOf(button);
    if (button === null || source === null) {
      return;
    }
    event.preventDefault();
    if (button.dataset.autocodeAction === 'copy') {
      void copy(source).then(() => say(button, 'Copied'));
    } else if (button.dataset.autocodeAction === 'insert') {
      this._insert(insertable(source, button), button);
      say(button, 'Inserted');
    } else if (button.dataset.autocodeAction === 'grant') {
      this._grant(source, button);
    }
  };

  private _isDisposed = false;
}

/** The text that a button is about; `null` when there is none near it. */
export function sourceOf(button: Element): string | null {
  return button.closest('[data-autocode-block]')?.querySelector('[data-autocode-source]')?.textContent ?? null;
}

/** The text as a cell: its function has the name of the result, where the kernel says in which places that stands. */
export function insertable(source: string, button: Element): string {
  const { autocodeName, autocodePlaces } = button.closest<HTMLElement>('[data-autocode-block]')?.dataset ?? {};
  const places = (autocodePlaces ?? '').split(',').map(Number);
  if (!autocodeName || !places.every(place => source.startsWith('run', characters(source, place)))) {
    return source;
  }
  return places.reduceRight((text, place) => {
    const at = characters(source, place);
    return text.slice(0, at) + autocodeName + text.slice(at + 'run'.length);
  }, source);
}

/** A count of characters, as Python counts them, in the units of a text here. */
function characters(text: string, count: number): number {
  return Array.from(text).slice(0, count).join('').length;
}

async function copy(source: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(source);
  } catch {
    Clipboard.copyToSystem(source); // without HTTPS there is no navigator.clipboard
  }
}

/** Let a button say for a moment that it was done; a screen reader hears it too. */
function say(button: HTMLElement, words: string): void {
  const label = (button.dataset.autocodeLabel ??= button.getAttribute('aria-label') ?? '');
  button.setAttribute('aria-label', words);
  announce(words);
  setTimeout(() => {
    button.setAttribute('aria-label', label);
    delete button.dataset.autocodeLabel;
  }, SAID);
}

function announce(words: string): void {
  const id = 'autocoder-jupyter-said';
  let region = document.getElementById(id);
  if (region === null) {
    region = document.createElement('div');
    region.id = id;
    region.className = 'jp-AutocodeSaid';
    region.setAttribute('role', 'status');
    document.body.append(region);
  }
  region.textContent = ''; // the same word again is news, too
  region.textContent = words;
}
