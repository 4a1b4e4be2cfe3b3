import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

/** What is said of a process that ends. `starting` is said by the one that comes after it, when others restarted it. */
const ENDS: readonly Kernel.Status[] = ['starting', 'restarting', 'autorestarting', 'terminating', 'dead'];

/** What of a session context is watched. */
type Watched = Pick<ISessionContext, 'statusChanged' | 'iopubMessage'>;

/**
 * Tells when the process behind a kernel has ended, or another one answers in its place.
 *
 * The status alone is not enough: it says nothing on a page whose subscription missed the first words of a process that
 * another page started. But each process signs its messages with a session of its own.
 */
export class KernelProcess {
  constructor(private readonly _context: Watched) {
    _context.statusChanged.connect(this._onStatus, this);
    _context.iopubMessage.connect(this._onMessage, this);
  }

  /** The process has ended; nothing that it said holds any more. */
  get ended(): ISignal<this, void> {
    return this._ended;
  }

  /** Another process speaks. */
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
      return; // a kernel that signs with several of them is not taken for a new one each time
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
