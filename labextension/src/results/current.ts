import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import { namedCells } from '../cells/names';
import type { IKernelLink, ILink } from '../link/tokens';
import type { IEntry } from './entries';
import { entries } from './entries';

/** Pause in typing after which the cells are read again, in milliseconds. */
const PAUSE = 300;

/** The results of the current notebook: those of its kernel, and its cells that were not run there. */
export class CurrentResults {
  constructor(
    private readonly _notebooks: INotebookTracker,
    private readonly _links: ILink
  ) {
    _notebooks.currentChanged.connect(this._followNotebook, this);
    _links.changed.connect(this._followLink, this);
    this._followNotebook();
  }

  /** The notebook; `null` if none is open. */
  get notebook(): NotebookPanel | null {
    return this._notebook;
  }

  /** The link to its kernel; `null` if it has none. */
  get link(): IKernelLink | null {
    return this._link;
  }

  get entries(): readonly IEntry[] {
    return this._entries;
  }

  /** Emitted when one of the above changes. */
  get changed(): ISignal<CurrentResults, void> {
    return this._changed;
  }

  private _followNotebook(): void {
    const notebook = this._notebooks.currentWidget;
    if (notebook === this._notebook) {
      return;
    }
    if (this._notebook !== null && !this._notebook.isDisposed) {
      this._notebook.content.modelContentChanged.disconnect(this._readSoon, this);
      this._notebook.context.pathChanged.disconnect(this._read, this);
    }
    this._notebook = notebook;
    if (notebook !== null) {
      notebook.content.modelContentChanged.connect(this._readSoon, this);
      notebook.context.pathChanged.connect(this._read, this);
      void notebook.context.ready.then(() => this._read());
    }
    this._followLink();
  }

  private _followLink(): void {
    const link = this._notebook === null ? null : this._links.forNotebook(this._notebook);
    if (link !== this._link) {
      this._link?.changed.disconnect(this._read, this);
      this._link = link;
      this._link?.changed.connect(this._read, this);
    }
    this._read();
  }

  private _readSoon(): void {
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this._read(), PAUSE);
  }

  private _read(): void {
    const open = this._notebook !== null && !this._notebook.isDisposed;
    this._entries = open ? entries(namedCells(this._notebook!), this._link?.jobs ?? []) : [];
    this._changed.emit();
  }

  private readonly _changed = new Signal<CurrentResults, void>(this);
  private _notebook: NotebookPanel | null = null;
  private _link: IKernelLink | null = null;
  private _entries: readonly IEntry[] = [];
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
