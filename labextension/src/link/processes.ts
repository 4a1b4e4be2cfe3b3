import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

/** The statuses when a process ends. `starting` comes from the next process if another page restarted the kernel. */
const ENDS: readonly Kernel.Status[] = ['starting', 'restarting', 'autorestarting', 'terminating', 'dead'];

/** The watched part of a session context. */
type Watched = Pick<ISessionContext, 'statusChanged' | 'iopubMessage'>;

/**
 * Detects when the process of a kernel has ended or was replaced.
 *
 * The status is not enough: a page may miss the first messages of a process that another page started. But each process
 * uses its own session id in its messages.
 */
export class KernelProcess {
  constructor(private readonly _context: Watched) {
    _context.statusChanged.connect(this._onStatus, this);
    _context.iopubMessage.connect(this._onMessage, this);
  }

  /** Emitted when the process has ended; its messages are outdated. */
  get ended(): ISignal<this, void> {
    return this._ended;
  }

  /** Emitted when another process sends messages. */
  get replaced(): ISignal<this, void> {
    return this._replaced;
  }

  dispose(): void {
    this._context.statusChanged.disconnect(this._onStatus, this);
    this._context.iopubMessage.disconnect(this._onMessage, this);
    Signal.clearData(this);
  }

  private _onStatus(_: unknown, status: Kernel.Status): void {
    if (ENDS.includes(status)) {
      this._ended.emit();
    }
  }

  private _onMessage(_: unknown, { header }: KernelMessage.IMessage): void {
    if (this._sessions.has(header.session)) {
      return; // a kernel with several session ids is not treated as new each time
    }
    this._sessions.add(header.session);
    if (this._sessions.size > 1) {
      this._replaced.emit();
    }
  }

  private readonly _sessions = new Set<string>();
  private readonly _ended = new Signal<this, void>(this);
  private readonly _replaced = new Signal<this, void>(this);
}
