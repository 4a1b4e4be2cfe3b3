import type { Kernel } from '@jupyterlab/services';
import { UUID } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IVocabulary } from '../vocabulary';
import { VOCABULARY } from '../vocabulary';
import type { Heard, Said } from './messages';
import { heard, PROTOCOL } from './messages';
import type { Action, ICellProblem, IJob, IKernelLink, RequestDetails, IVariable, Settings } from './tokens';

/** Time limit for an answer of the kernel, in milliseconds. */
export const PATIENCE = 20_000;

/** The same for an action that starts sandboxes and imports the model client. */
export const PATIENCE_WITH_CHECKS = 90_000;

/** The part of a comm that a link needs. */
export type Wire = Pick<Kernel.IComm, 'commId' | 'isDisposed' | 'onMsg' | 'onClose'> & { send(data: Said): unknown };

interface IWaiting {
  resolve: (value: string | null) => void;
  reject: (reason: Error) => void;
}

/** The link to one kernel, over one comm at a time. */
export class KernelLink implements IKernelLink, IDisposable {
  get connected(): boolean {
    return this._connected;
  }

  get absent(): boolean {
    return this._absent;
  }

  get jobs(): readonly IJob[] {
    return this._jobs;
  }

  get heardAt(): number {
    return this._heardAt;
  }

  get variables(): readonly IVariable[] | null {
    return this._variables;
  }

  get others(): { readonly [name: string]: string } {
    return this._others;
  }

  get vocabulary(): IVocabulary {
    return this._vocabulary;
  }

  get changed(): ISignal<IKernelLink, void> {
    return this._changed;
  }

  /** Emitted when the kernel refused settings, with its messages. */
  get refused(): ISignal<KernelLink, readonly string[]> {
    return this._refused;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** The id of the attached comm; `null` without one. */
  get commId(): string | null {
    return this._wire === null || this._wire.isDisposed ? null : this._wire.commId;
  }

  /**
   * Use this comm from now on.
   *
   * @param wire the comm
   * @param reachable resolves when messages reach the kernel; the kernel may send earlier
   */
  attach(wire: Wire, reachable: Promise<void>): void {
    this._letGo();
    this._wire = wire;
    this._absent = false;
    this._heardAt = 0;
    wire.onMsg = message => this._hear(heard(message.content.data));
    wire.onClose = () => this.forget();
    void reachable.then(() => {
      if (this._wire === wire) {
        this.greet();
      }
    });
  }

  /** Send `hello`, also after a lost connection; the kernel then sends everything again. */
  greet(): void {
    if (this._say({ kind: 'hello', client: this._client })) {
      this._say({ kind: 'settings', values: this._settings });
    }
  }

  /** Send these settings to the kernel, now and after every `hello`. */
  configure(values: Settings): void {
    this._settings = values;
    this._say({ kind: 'settings', values });
  }

  /** Forget all data of the kernel, because it ended or was restarted. */
  forget(): void {
    const isNews = !this._absent;
    this._letGo();
    this._absent = true;
    this._connected = false;
    this._preparing = false;
    this._jobs = [];
    this._heardAt = 0;
    this._variables = null;
    this._others = {};
    this._vocabulary = VOCABULARY;
    for (const waiting of this._waiting.values()) {
      waiting.reject(new Error('The kernel stopped before it answered.'));
    }
    this._waiting.clear();
    if (isNews) {
      this._changed.emit();
    }
  }

  prepare(): void {
    if (!this._preparing) {
      this._preparing = true;
      this._sayPrepare();
    }
  }

  request(action: Action, name: string, details: RequestDetails = {}): Promise<string | null> {
    const id = UUID.uuid4();
    const what = `${action} ${name}`.trim();
    const answer = this._ask({ kind: 'request', id, action, name, ...details });
    const timer = setTimeout(
      () => {
        const waiting = this._waiting.get(id);
        this._waiting.delete(id);
        waiting?.reject(
          new Error(`The kernel has not answered yet; it may be busy. The request (${what}) is still queued.`)
        );
      },
      ['doctor', 'try-model'].includes(action) ? PATIENCE_WITH_CHECKS : PATIENCE
    );
    return answer.finally(() => clearTimeout(timer));
  }

  async problems(cell: string): Promise<readonly ICellProblem[]> {
    const value = await this._ask({ kind: 'problems', id: UUID.uuid4(), cell });
    return JSON.parse(value ?? '[]') as ICellProblem[];
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this.forget();
    Signal.clearData(this);
  }

  /** Stop listening. The comm stays open, because it belongs to the kernel and other pages use it too. */
  private _letGo(): void {
    if (this._wire !== null) {
      this._wire.onMsg = () => undefined;
      this._wire.onClose = () => undefined;
      this._wire = null;
    }
  }

  /** Send a request; resolves with the value of the reply. */
  private _ask(message: Said & { id: string }): Promise<string | null> {
    if (!this._connected || !this._say(message)) {
      const hint = 'Run a cell with %load_ext autocoder_jupyter first.';
      return Promise.reject(new Error(`autocoder_jupyter is not loaded in this kernel. ${hint}`));
    }
    return new Promise((resolve, reject) => {
      this._waiting.set(message.id, { resolve, reject });
    });
  }

  private _say(message: Said): boolean {
    if (this._wire === null || this._wire.isDisposed) {
      return false;
    }
    try {
      this._wire.send(message);
      return true;
    } catch {
      return false; // the connection to the kernel was disposed in the meantime
    }
  }

  private _sayPrepare(): void {
    if (this._preparing && this._connected) {
      this._say({ kind: 'prepare' });
    }
  }

  private _hear(message: Heard | null): void {
    if (message?.kind === 'welcome') {
      this._isForeign = message.protocol !== PROTOCOL;
    } else if (this._isForeign) {
      return;
    }
    switch (message?.kind) {
      case 'welcome':
        if (this._isForeign) {
          this._refused.emit([
            `The kernel has version ${message.version} of autocoder_jupyter, whose messages this page does not know. ` +
              'Install the same version for JupyterLab and for the kernel, then restart both.'
          ]);
          return;
        }
        this._connected = true;
        this._vocabulary = message.vocabulary;
        this._sayPrepare();
        break;
      case 'jobs':
        this._jobs = message.jobs;
        this._heardAt = Date.now();
        break;
      case 'data':
        this._variables = message.variables;
        this._others = message.others ?? {};
        break;
      case 'settings': {
        const sentences = Object.values(message.refused ?? {});
        if (sentences.length > 0) {
          this._refused.emit(sentences);
        }
        return;
      }
      case 'reply':
        this._answered(message);
        return;
      default:
        return;
    }
    this._changed.emit();
  }

  private _answered(reply: Extract<Heard, { kind: 'reply' }>): void {
    const waiting = this._waiting.get(reply.id);
    if (waiting === undefined) {
      return; // another page sent the request, or its time limit was exceeded
    }
    this._waiting.delete(reply.id);
    if (reply.ok) {
      waiting.resolve(reply.value);
    } else {
      waiting.reject(new Error(reply.error));
    }
  }

  private readonly _client = UUID.uuid4();
  private readonly _waiting = new Map<string, IWaiting>();
  private readonly _changed = new Signal<IKernelLink, void>(this);
  private readonly _refused = new Signal<KernelLink, readonly string[]>(this);
  private _wire: Wire | null = null;
  private _connected = false;
  /** Whether the kernel sends messages of another version. */
  private _isForeign = false;
  private _absent = false;
  private _preparing = false;
  private _jobs: readonly IJob[] = [];
  private _heardAt = 0;
  private _variables: readonly IVariable[] | null = null;
  private _others: { readonly [name: string]: string } = {};
  private _vocabulary: IVocabulary = VOCABULARY;
  private _settings: Settings = {};
  private _isDisposed = false;
}
