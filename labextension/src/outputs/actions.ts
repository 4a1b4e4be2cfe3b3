import { Clipboard } from '@jupyterlab/apputils';
import type { IDisposable } from '@lumino/disposable';

import { mayBeAdded } from '../cells/option';
import { toggleRefineBox, refineButton } from './refineBox';

/** How long a button shows that it was clicked, in milliseconds. */
const SAID = 2000;

/** The commands of buttons about a result, by their class. */
const COMMANDS: { readonly [kind: string]: string } = {
  'autocode-keep': 'keep',
  'autocode-reveal': 'reveal-cell',
  'autocode-call': 'call',
  'autocode-edit': 'edit-code'
};

/** The commands that a button may name: none that consents to anything. */
const NAMED = ['silent-wait', 'silent-again', 'silent-model'];

/** Handles the buttons in our outputs: copy code, insert it as a cell, or refine a function. */
export class ActionListener implements IDisposable {
  /**
   * @param node the element whose clicks are handled
   * @param insert inserts a source text as a cell; also gets the button
   * @param runCell inserts a cell and runs it; also gets the button
   * @param runCellWith runs the cell of a button again with further options
   * @param execute executes a command of the page for a result
   */
  constructor(
    private readonly _node: HTMLElement,
    private readonly _insert: (source: string, button: HTMLElement) => void,
    private readonly _runCell: (source: string, button: HTMLElement) => void,
    private readonly _runCellWith: (button: HTMLElement, options: string) => void = () => undefined,
    private readonly _execute: (action: string, name: string) => void = () => undefined
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
    const button = (event.target as Element | null)?.closest?.<HTMLElement>('button[class^="autocode-"]') ?? null;
    const act = button && this._actOf(button);
    if (act) {
      event.preventDefault();
      act();
    }
  };

  /** What a button does; `null` for one that lacks what it needs. */
  private _actOf(button: HTMLElement): (() => void) | null {
    const kind = button.classList[0];
    const option = button.dataset.autocodeOption ?? '';
    switch (kind) {
      case 'autocode-refine-cell':
        return () => this._runCellWith(button, '--refine');
      case 'autocode-option-cell':
        return mayBeAdded(option) ? () => this._runCellWith(button, option) : null;
      case 'autocode-wish':
        return refineButton(button) && (() => toggleRefineBox(button, cell => this._runCell(cell, button)));
      case 'autocode-action': {
        const source = sourceOf(button);
        return source === null ? null : () => this._use(source, button);
      }
      default: {
        const name = button.closest<HTMLElement>('[data-autocode-refines]')?.dataset.autocodeRefines;
        const command = kind === 'autocode-do' ? NAMED.find(named => named === option) : COMMANDS[kind];
        return name && command ? () => this._execute(command, name) : null;
      }
    }
  }

  private _use(source: string, button: HTMLElement): void {
    const { autocodeAction } = button.dataset;
    if (autocodeAction === 'copy') {
      void copy(source).then(() => say(button, 'Copied'));
    } else if (autocodeAction === 'insert') {
      this._insert(insertable(source, button), button);
      say(button, 'Inserted');
    } else if (autocodeAction === 'grant') {
      this._runCell(source, button);
    }
  }

  private _isDisposed = false;
}

/** The source text of a button; `null` if there is none. */
export function sourceOf(button: Element): string | null {
  return button.closest('[data-autocode-block]')?.querySelector('[data-autocode-source]')?.textContent ?? null;
}

/** The source text for a cell: `run` is replaced by the name of the result at the places that the kernel gave. */
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

/** Converts a number of characters (code points, as in Python) to UTF-16 units. */
function characters(text: string, count: number): number {
  return Array.from(text).slice(0, count).join('').length;
}

async function copy(source: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(source);
  } catch {
    Clipboard.copyToSystem(source); // without HTTPS, navigator.clipboard does not exist
  }
}

/** Show a short message on a button, and announce it to screen readers. */
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
  region.textContent = ''; // so that the same message is announced again
  region.textContent = words;
}
