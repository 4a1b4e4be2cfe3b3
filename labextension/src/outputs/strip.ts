import { Panel, Widget } from '@lumino/widgets';

import type { CommandID } from '../commands/ids';
import { CommandIDs } from '../commands/ids';
import type { IJob } from '../link/tokens';
import { actionOf, needsCell } from '../results/entries';

/** The labels of the buttons. The kernel says which of them a card has, and in which order. */
const LABELS: { readonly [command in CommandID]?: string } = {
  [CommandIDs.cancel]: 'Cancel',
  [CommandIDs.call]: 'Run',
  [CommandIDs.insertCall]: 'Insert call',
  [CommandIDs.retry]: 'Retry',
  [CommandIDs.editRequest]: 'Edit the request',
  [CommandIDs.editCode]: 'Edit the code',
  [CommandIDs.raiseLimit]: 'Raise the limit',
  [CommandIDs.inspect]: 'Inspect'
};

/** Executes a command for a result. */
export type Act = (command: string, name: string) => void;

/**
 * The buttons of a card: Cancel in its head, the others below it, and below these a place for what a button opens.
 *
 * They are not part of the HTML of the card, which is replaced on each update. So a button keeps the focus and can be
 * clicked at any time.
 */
export class Strip extends Panel {
  constructor(private readonly _act: Act) {
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

  /** Whether there are no buttons. */
  get isEmpty(): boolean {
    return this._buttons.size === 0;
  }

  /** Show the buttons that are possible for a run; none if the kernel does not have the run. */
  offer(job: IJob | null): void {
    const offers = job === null ? [] : offered(job);
    const hadFocus = this.node.contains(document.activeElement);
    for (const [command, button] of this._buttons) {
      if (!offers.includes(command)) {
        button.remove();
        this._buttons.delete(command);
      }
    }
    for (const command of offers) {
      if (!this._buttons.has(command)) {
        (command === CommandIDs.cancel ? this._head : this._row).node.append(this._make(command, job!.name));
      }
    }
    this._row.node.setAttribute('aria-label', job === null ? '' : `Actions for ${job.name}`);
    this._row.setHidden(!this._row.node.hasChildNodes());
    if (hadFocus && !this.node.contains(document.activeElement)) {
      this.node.querySelector('button')?.focus(); // the clicked button was removed, as Cancel is
    }
  }

  private _make(command: CommandID, name: string): HTMLButtonElement {
    const label = LABELS[command]!;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = label;
    button.setAttribute('aria-label', `${label}: ${name}`);
    button.addEventListener('click', () => this._act(command, name));
    this._buttons.set(command, button);
    return button;
  }

  private readonly _head = new Widget();
  private readonly _row = new Widget();
  private readonly _buttons = new Map<CommandID, HTMLButtonElement>();
}

function offered({ buttons, cell_id }: IJob): CommandID[] {
  const known = Object.keys(LABELS) as CommandID[];
  return (buttons ?? [])
    .flatMap(name => known.filter(command => actionOf(command) === name))
    .filter(command => cell_id !== null || !needsCell(command));
}
