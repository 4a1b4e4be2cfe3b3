import type { ISessionContext } from '@jupyterlab/apputils';
import type { IChangedArgs } from '@jupyterlab/coreutils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Kernel } from '@jupyterlab/services';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import { KernelLink } from './kernelLink';
import { TARGET } from './messages';
import type { IKernelLink, ILink, Settings } from './tokens';

/** What a kernel does when the process behind it ends or is another one. `starting` is heard of a restart by others. */
const FORGETTING: readonly Kernel.Status[] = ['starting', 'restarting', 'autorestarting', 'terminating', 'dead'];

/** Follows the kernels of notebooks: a link for each kernel, shared by the notebooks that use it. */
export class Links implements ILink {
  get changed(): ISignal<ILink, void> {
    return this._changed;
  }

  get refused(): ISignal<ILink, readonly string[]> {
    return this._refused;
  }

  forNotebook(panel: NotebookPanel): IKernelLink | null {
    const id = this._kernelOf.get(panel);
    return id === undefined ? null : (this._links.get(id) ?? null);
  }

  configure(values: Settings): void {
    this._settings = values;
    for (const link of this._links.values()) {
      link.configure(values);
    }
  }

  /** Keep a link to the kernel of this notebook, whichever it has, until the notebook is closed. */
  follow(panel: NotebookPanel): void {
    const { sessionContext } = panel;
    sessionContext.kernelChanged.connect(this._onKernelChanged(panel), this);
    sessionContext.statusChanged.connect((_, status) => this._onStatus(panel, status), this);
    sessionContext.connectionStatusChanged.connect((_, status) => {
      if (status === 'connected') {
        this._meetAgain(panel);
      }
    }, this);
    panel.disposed.connect(() => this._leave(panel), this);
    this._use(panel, sessionContext.session?.kernel ?? null);
  }

  private _onKernelChanged(panel: NotebookPanel) {
    return (_: ISessionContext, kernels: IChangedArgs<Kernel.IKernelConnection | null>): void => {
      this._leave(panel);
      this._use(panel, kernels.newValue);
    };
  }

  private _onStatus(panel: NotebookPanel, status: Kernel.Status): void {
    if (!FORGETTING.includes(status)) {
      return;
    }
    this._linkOf(panel)?.forget();
    if (status === 'starting') {
      this._meetAgain(panel);
    }
  }

  private _meetAgain(panel: NotebookPanel): void {
    const link = this._linkOf(panel);
    const kernel = panel.sessionContext.session?.kernel;
    if (link !== undefined && kernel?.handleComms) {
      void this._find(link, kernel);
    }
  }

  private _use(panel: NotebookPanel, kernel: Kernel.IKernelConnection | null): void {
    if (kernel !== null) {
      const link = this._links.get(kernel.id) ?? this._newLink(kernel.id);
      this._kernelOf.set(panel, kernel.id);
      // Of several connections of this page to one kernel, one handles comms; the others would close them.
      if (kernel.handleComms) {
        kernel.registerCommTarget(TARGET, comm => link.attach(comm));
        void this._find(link, kernel);
      }
    }
    this._changed.emit();
  }

  private _newLink(id: string): KernelLink {
    const link = new KernelLink();
    link.configure(this._settings);
    link.refused.connect((_, sentences) => this._refused.emit(sentences), this);
    this._links.set(id, link);
    return link;
  }

  private _leave(panel: NotebookPanel): void {
    const id = this._kernelOf.get(panel);
    if (id === undefined) {
      return;
    }
    this._kernelOf.delete(panel);
    if (![...this._kernelOf.values()].includes(id)) {
      this._links.get(id)?.dispose();
      this._links.delete(id);
    }
    this._changed.emit();
  }

  /** Attach to the comm that the kernel has open from before: the page was reloaded, or is a second one. */
  private async _find(link: KernelLink, kernel: Kernel.IKernelConnection): Promise<void> {
    const before = link.commId;
    let known: string[];
    try {
      const { content } = await kernel.requestCommInfo({ target_name: TARGET });
      known = content.status === 'ok' ? Object.keys(content.comms) : [];
    } catch {
      return; // the connection was closed before the answer; what comes after it looks again
    }
    if (link.isDisposed || kernel.isDisposed || link.commId !== before) {
      return; // the kernel opened one meanwhile
    }
    if (before !== null && known.includes(before)) {
      link.greet(); // what was said while the connection was broken is lost
      return;
    }
    const id = known.filter(id => !kernel.hasComm(id)).pop();
    if (id !== undefined) {
      // eslint-disable-next-line jupyter/require-disposable-transfer -- the kernel's connection owns its comms
      link.attach(kernel.createComm(TARGET, id));
    } else {
      link.forget();
    }
  }

  private _linkOf(panel: NotebookPanel): KernelLink | undefined {
    const id = this._kernelOf.get(panel);
    return id === undefined ? undefined : this._links.get(id);
  }

  private readonly _links = new Map<string, KernelLink>();
  private readonly _kernelOf = new Map<NotebookPanel, string>();
  private readonly _changed = new Signal<ILink, void>(this);
  private readonly _refused = new Signal<ILink, readonly string[]>(this);
  private _settings: Settings = {};
}
