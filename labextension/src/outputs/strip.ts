import { Panel, Widget } from '@lumino/widgets';

import { CommandIDs } from '../commands/ids';
import type { IJob } from '../link/tokens';
import { canRaise, isUnderWay } from '../results/entries';

/** A button on a card. */
interface IOffer {
  command: string;
  label: string;
  fits: (job: IJob) => boolean;
}

const isReady = ({ phase }: IJob): boolean => phase === 'ready';
const hasFailed = ({ phase }: IJob): boolean => ['failed', 'over_budget', 'cancelled'].includes(phase);

const CANCEL: IOffer = { command: CommandIDs.cancel, label: 'Cancel', fits: isUnderWay };

const OFFERS: readonly IOffer[] = [
  { command: CommandIDs.call, label: 'Run', fits: isReady },
  { command: CommandIDs.insertCall, label: 'Insert call', fits: isReady },
  { command: CommandIDs.retry, label: 'Retry', fits: hasFailed },
  { command: CommandIDs.editRequest, label: 'Edit the request', fits: job => hasFailed(job) && job.cell_id !== null },
  { command: CommandIDs.editCode, label: 'Edit the code', fits: job => hasFailed(job) && job.phase !== 'cancelled' },
  { command: CommandIDs.raiseLimit, label: 'Raise the limit', fits: job => job.cell_id !== null && canRaise(job) },
  { command: CommandIDs.inspect, label: 'Inspect', fits: isReady }
];

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
    const offers = job === null ? [] : [CANCEL, ...OFFERS].filter(({ fits }) => fits(job));
    const hadFocus = this.node.contains(document.activeElement);
    for (const [command, button] of this._buttons) {
      if (!offers.some(offer => offer.command === command)) {
        button.remove();
        this._buttons.delete(command);
      }
    }
    for (const offer of offers) {
      if (!this._buttons.has(offer.command)) {
        (offer === CANCEL ? this._head : this._row).node.append(this._make(offer, job!.name));
      }
    }
    this._row.node.setAttribute('aria-label', job === null ? '' : `Actions for ${job.name}`);
    this._row.setHidden(!this._row.node.hasChildNodes());
    if (hadFocus && !this.node.contains(document.activeElement)) {
      this.node.querySelector('button')?.focus(); // the clicked button was removed, as Cancel is
    }
  }

  private _make({ command, label }: IOffer, name: string): HTMLButtonElement {
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
  private readonly _buttons = new Map<string, HTMLButtonElement>();
}
