import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import { autocodeIcon } from '../icons';
import type { IResults } from '../results/tokens';
import { statusText } from './text';

/** The item of the status bar: a button with a short text that opens the panel. */
export class StatusItem extends Widget {
  /**
   * @param results the results to summarize
   * @param open called on a click
   */
  constructor(
    private readonly _results: IResults,
    open: () => void
  ) {
    super();
    this.addClass('jp-AutocodeStatus');
    this._button.type = 'button';
    this._button.title = 'Show the Autocode results';
    this._button.addEventListener('click', open);
    this._button.append(autocodeIcon.element({ tag: 'span' }), this._text);
    this.node.append(this._button);
    _results.changed.connect(this._tell, this);
    this._tell();
  }

  /** The text; empty if there are no jobs. */
  get words(): string {
    return this._text.textContent ?? '';
  }

  /** Emitted when the text changes. */
  get changed(): ISignal<StatusItem, void> {
    return this._changed;
  }

  override dispose(): void {
    this._results.changed.disconnect(this._tell, this);
    super.dispose();
  }

  private _tell(): void {
    const words = statusText(this._results.link?.jobs ?? []);
    if (words !== this.words) {
      this._text.textContent = words;
      this._button.setAttribute('aria-label', `Autocode: ${words}`);
      this._changed.emit();
    }
  }

  private readonly _button = document.createElement('button');
  private readonly _text = document.createElement('span');
  private readonly _changed = new Signal<StatusItem, void>(this);
}
