import type { ISessionContext } from '@jupyterlab/apputils';
import type { IChangedArgs } from '@jupyterlab/coreutils';
import type { Kernel } from '@jupyterlab/services';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import { KernelLink } from './kernelLink';
import { TARGET } from './messages';
import { KernelProcess } from './processes';
import type { IKernelLink, ILink, IUser, Settings } from './tokens';

/** Time limit for the start of a subshell, in milliseconds. */
const SUBSHELL = 1000;

/** Manages the links to the kernels of notebooks and consoles: one link per kernel. */
export class Links implements ILink {
  get changed(): ISignal<ILink, void> {
    return this._changed;
  }

  get refused(): ISignal<ILink, readonly string[]> {
    return this._refused;
  }

  forNotebook(user: IUser): IKernelLink | null {
    const id = this._kernelOf.get(user);
    return id === undefined ? null : (this._links.get(id) ?? null);
  }

  configure(values: Settings): void {
    this._settings = values;
    for (const link of this._links.values()) {
      link.configure(values);
    }
  }

  /** Keep a link to the current kernel of this notebook or console, until it is closed. */
  follow(user: IUser): void {
    const { sessionContext } = user;
    sessionContext.kernelChanged.connect(this._onKernelChanged(user), this);
    const process = new KernelProcess(sessionContext);
    process.ended.connect(() => this._linkOf(user)?.forget());
    process.replaced.connect(() => this._meetAgain(user));
    sessionContext.connectionStatusChanged.connect((_, status) => {
      if (status === 'connected') {
        this._meetAgain(user);
      }
    }, this);
    user.disposed.connect(() => {
      process.dispose();
      this._leave(user);
    }, this);
    this._use(user, sessionContext.session?.kernel ?? null);
  }

  private _onKernelChanged(user: IUser) {
    return (_: ISessionContext, kernels: IChangedArgs<Kernel.IKernelConnection | null>): void => {
      this._leave(user);
      this._use(user, kernels.newValue);
    };
  }

  private _meetAgain(user: IUser): void {
    const link = this._linkOf(user);
    const kernel = user.sessionContext.session?.kernel;
    if (link !== undefined && kernel?.handleComms) {
      void this._find(link, kernel);
    }
  }

  private _use(user: IUser, kernel: Kernel.IKernelConnection | null): void {
    if (kernel !== null) {
      const link = this._links.get(kernel.id) ?? this._newLink(kernel.id);
      this._kernelOf.set(user, kernel.id);
      // If this page has several connections to a kernel, only one handles comms; the others would close them.
      if (kernel.handleComms) {
        kernel.registerCommTarget(TARGET, comm => link.attach(comm, reachable(kernel, comm)));
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

  private _leave(user: IUser): void {
    const id = this._kernelOf.get(user);
    if (id === undefined) {
      return;
    }
    this._kernelOf.delete(user);
    if (![...this._kernelOf.values()].includes(id)) {
      this._links.get(id)?.dispose();
      this._links.delete(id);
    }
    this._changed.emit();
  }

  /** Attach to the comm that the kernel has already opened: the page was reloaded, or is a second page. */
  private async _find(link: KernelLink, kernel: Kernel.IKernelConnection): Promise<void> {
    const before = link.commId;
    let known: string[];
    try {
      const { content } = await kernel.requestCommInfo({ target_name: TARGET });
      known = content.status === 'ok' ? Object.keys(content.comms) : [];
    } catch {
      return; // the connection was closed before the answer; the next connection tries again
    }
    if (link.isDisposed || kernel.isDisposed || link.commId !== before) {
      return; // the kernel opened a comm in the meantime
    }
    if (before !== null && known.includes(before)) {
      link.greet(); // messages that were sent while the connection was lost are gone
      return;
    }
    const id = known.filter(id => !kernel.hasComm(id)).pop();
    if (id !== undefined) {
      const comm = kernel.createComm(TARGET, id);
      link.attach(comm, reachable(kernel, comm));
    } else {
      link.forget();
    }
  }

  private _linkOf(user: IUser): KernelLink | undefined {
    const id = this._kernelOf.get(user);
    return id === undefined ? undefined : this._links.get(id);
  }

  private readonly _links = new Map<string, KernelLink>();
  private readonly _kernelOf = new Map<IUser, string>();
  private readonly _changed = new Signal<ILink, void>(this);
  private readonly _refused = new Signal<ILink, readonly string[]>(this);
  private _settings: Settings = {};
}

/**
 * Resolves when messages over a comm reach a busy kernel. A kernel with subshells starts one for the comm after it is
 * opened; earlier messages wait until the running cells end.
 */
async function reachable(kernel: Kernel.IKernelConnection, comm: Kernel.IComm): Promise<void> {
  await kernel.info;
  if (kernel.supportsSubshells) {
    const { subshellStarted } = comm as { subshellStarted?: Promise<void> };
    await Promise.race([
      subshellStarted?.catch(() => undefined),
      new Promise(resolve => setTimeout(resolve, SUBSHELL))
    ]);
  }
}
