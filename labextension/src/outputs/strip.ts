import type { CommandRegistry } from '@lumino/commands';
import { Panel, Widget } from '@lumino/widgets';

import { commandOf } from '../commands/ids';
import type { IJob } from '../link/tokens';
import { needsCell } from '../results/entries';

/** The commands of the page, which the buttons execute. */
export type Commands = Pick<CommandRegistry, 'execute' | 'hasCommand'>;

/**
 * The buttons of a card: Cancel in its head, the others below it, and below these a place for what a button opens.
 *
 * They are not part of the HTML of the card, which is replaced on each update. So a button keeps the focus and can be
 * clicked at any time.
 */
export class Strip extends Panel {
  constructor(private readonly _commands: Commands) {
    super();
    this.addClass('jp-AutocodeStrip');
    this._head.addClass('jp-AutocodeStrip-head');
    this._row.addClass('jp-AutocodeStrip-row');
    this._row.node.setAttribute('role', 'group');
    this.place.addClass('jp-AutocodeStrip-place');
    [this._head, this._row, this.place].forEach(part => this.addWidget(part));
  }

  /** The place for what a button opens. */
  readonly place = new Panel();

  /** Show the buttons that the kernel names for a run; none if it does not have the run. */
  offer(job: IJob | null): void {
    const offers = Object.entries(job?.buttons ?? {}).filter(([action]) => this._isPossible(action, job!));
    const hadFocus = this.node.contains(document.activeElement);
    for (const [action, button] of this._buttons) {
      if (!offers.some(([offered]) => offered === action)) {
        button.remove();
        this._buttons.delete(action);
      }
    }
    for (const [action, label] of offers) {
      if (!this._buttons.has(action)) {
        (action === 'cancel' ? this._head : this._row).node.append(this._make(action, label, job!.name));
      }
    }
    this._row.node.setAttribute('aria-label', job === null ? '' : `Actions for ${job.name}`);
    this._row.setHidden(!this._row.node.hasChildNodes());
    if (hadFocus && !this.node.contains(document.activeElement)) {
      this.node.querySelector('button')?.focus(); // the clicked button was removed, as Cancel is
    }
  }

  /** A newer kernel may name an action that this page does not know. */
  private _isPossible(action: string, job: IJob): boolean {
    return this._commands.hasCommand(commandOf(action)) && (job.cell_id !== null || !needsCell(action));
  }

  private _make(action: string, label: string, name: string): HTMLButtonElement {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = label;
    button.dataset.action = action;
    button.setAttribute('aria-label', `${label}: ${name}`);
    button.addEventListener('click', () => void this._commands.execute(commandOf(action), { name }));
    this._buttons.set(action, button);
    return button;
  }

  private readonly _head = new Widget();
  private readonly _row = new Widget();
  private readonly _buttons = new Map<string, HTMLButtonElement>();
}
