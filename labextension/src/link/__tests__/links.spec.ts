import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';

import { VOCABULARY } from '../../vocabulary';
import { Links } from '../links';
import { PROTOCOL, TARGET } from '../messages';
import { FakeComm, job } from './fakes';

const WELCOME = { kind: 'welcome', client: 'x', protocol: PROTOCOL, version: '0.1.0', vocabulary: VOCABULARY };

/** As much of a kernel's connection as the links use; `open` is what the process behind it has open. */
class FakeKernel {
  constructor(
    readonly id: string,
    readonly handleComms = true
  ) {}

  open: string[] = [];
  isDisposed = false;
  info = Promise.resolve();
  supportsSubshells = false;
  readonly comms = new Map<string, FakeComm>();
  private _target: ((comm: FakeComm) => void) | null = null;

  registerCommTarget(name: string, target: (comm: FakeComm) => void): void {
    expect(name).toBe(TARGET);
    this._target = target;
  }

  async requestCommInfo(): Promise<unknown> {
    const comms = Object.fromEntries(this.open.map(id => [id, { target_name: TARGET }]));
    return { content: { status: 'ok', comms } };
  }

  hasComm(id: string): boolean {
    return this.comms.has(id);
  }

  createComm(_target: string, id: string): FakeComm {
    const comm = new FakeComm(id);
    this.comms.set(id, comm);
    return comm;
  }

  offer(comm: FakeComm): void {
    this._target?.(comm);
  }

  /** What `%load_ext` does. */
  load(id: string): FakeComm {
    const comm = this.createComm(TARGET, id);
    this.open = [id];
    this.offer(comm);
    comm.hear(WELCOME);
    return comm;
  }
}

class FakeNotebook {
  constructor(kernel: FakeKernel | null) {
    this.sessionContext.session = { kernel };
  }

  readonly disposed = new Signal<this, void>(this);
  readonly sessionContext = {
    session: { kernel: null as FakeKernel | null },
    kernelChanged: new Signal<object, { newValue: FakeKernel | null }>({}),
    statusChanged: new Signal<object, Kernel.Status>({}),
    iopubMessage: new Signal<object, KernelMessage.IIOPubMessage>({}),
    connectionStatusChanged: new Signal<object, Kernel.ConnectionStatus>({})
  };

  use(kernel: FakeKernel | null): void {
    this.sessionContext.session = { kernel };
    this.sessionContext.kernelChanged.emit({ newValue: kernel });
  }

  /** A message of the process that signs with this session. */
  hear(session: string): void {
    this.sessionContext.iopubMessage.emit({ header: { session } } as KernelMessage.IIOPubMessage);
  }

  get panel(): NotebookPanel {
    return this as unknown as NotebookPanel;
  }
}

const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve));

describe('the links of a page', () => {
  it('hear a kernel that loads the extension', () => {
    const kernel = new FakeKernel('k');
    const notebook = new FakeNotebook(kernel);
    const links = new Links();
    links.follow(notebook.panel);
    expect(links.forNotebook(notebook.panel)?.connected).toBe(false);
    kernel.load('one');
    expect(links.forNotebook(notebook.panel)?.connected).toBe(true);
  });

  it.each<[string, number, boolean, () => Promise<unknown> | undefined]>([
    ['at once', 2, false, () => new Promise(() => undefined)],
    ['when there is a subshell', 0, true, () => new Promise(resolve => setTimeout(resolve, 200))],
    ['after a while when there is none yet', 0, true, () => new Promise(() => undefined)],
    ['at once when there can be none', 2, true, () => Promise.reject(new Error('no more threads'))],
    ['at once when this front end makes none', 2, true, () => undefined]
  ])('speak %s', async (_, saidAtOnce, supportsSubshells, started) => {
    const kernel = Object.assign(new FakeKernel('k'), { supportsSubshells });
    new Links().follow(new FakeNotebook(kernel).panel);
    const comm = Object.assign(kernel.createComm(TARGET, 'one'), { subshellStarted: started() });
    kernel.offer(comm);
    await settled();
    expect(comm.said).toHaveLength(saidAtOnce);
    await new Promise(resolve => setTimeout(resolve, 1100));
    expect(comm.said).toHaveLength(2);
  });

  it('find the comm of a kernel that loaded the extension before the page was there', async () => {
    const kernel = new FakeKernel('k');
    kernel.open = ['earlier'];
    const notebook = new FakeNotebook(kernel);
    const links = new Links();
    links.follow(notebook.panel);
    await settled();
    const comm = kernel.comms.get('earlier');
    expect(comm?.said[0].kind).toBe('hello');
    comm?.hear(WELCOME);
    expect(links.forNotebook(notebook.panel)?.connected).toBe(true);
  });

  it('say hello again when a broken connection is back, over the same comm', async () => {
    const kernel = new FakeKernel('k');
    const notebook = new FakeNotebook(kernel);
    const links = new Links();
    links.follow(notebook.panel);
    await settled();
    const comm = kernel.load('one');
    await settled();
    notebook.sessionContext.connectionStatusChanged.emit('connecting');
    notebook.sessionContext.connectionStatusChanged.emit('connected');
    await settled();
    expect(comm.said.map(({ kind }) => kind)).toEqual(['hello', 'settings', 'hello', 'settings']);
  });

  it('say hello once when a page opens, however often it looks', async () => {
    const kernel = new FakeKernel('k');
    kernel.open = ['earlier'];
    const notebook = new FakeNotebook(kernel);
    new Links().follow(notebook.panel);
    notebook.sessionContext.connectionStatusChanged.emit('connected');
    await settled();
    expect(kernel.comms.get('earlier')?.said.filter(({ kind }) => kind === 'hello')).toHaveLength(1);
  });

  it.each(['restarting', 'autorestarting', 'dead', 'starting', 'terminating'] as const)(
    'forget what a kernel said when it is %s',
    async status => {
      const kernel = new FakeKernel('k');
      const notebook = new FakeNotebook(kernel);
      const links = new Links();
      links.follow(notebook.panel);
      await settled();
      kernel.load('one').hear({ kind: 'jobs', jobs: [job({})] });
      kernel.open = [];
      notebook.sessionContext.statusChanged.emit(status);
      await settled();
      expect(links.forNotebook(notebook.panel)).toMatchObject({ connected: false, jobs: [] });
    }
  );

  it('forget what a kernel said when another process speaks, whose first words were missed', async () => {
    const kernel = new FakeKernel('k');
    const notebook = new FakeNotebook(kernel);
    const links = new Links();
    links.follow(notebook.panel);
    await settled();
    notebook.hear('first');
    kernel.load('one').hear({ kind: 'jobs', jobs: [job({})] });
    notebook.hear('first');
    await settled();
    expect(links.forNotebook(notebook.panel)?.jobs).toHaveLength(1);
    kernel.open = [];
    notebook.hear('second');
    await settled();
    expect(links.forNotebook(notebook.panel)).toMatchObject({ connected: false, jobs: [] });
  });

  it('look once for each session that a kernel signs with', async () => {
    const kernel = new FakeKernel('k');
    const notebook = new FakeNotebook(kernel);
    new Links().follow(notebook.panel);
    await settled();
    const looked = jest.spyOn(kernel, 'requestCommInfo');
    ['a', 'b', 'a', 'b', 'a', 'b'].forEach(session => notebook.hear(session));
    await settled();
    expect(looked).toHaveBeenCalledTimes(1);
  });

  it('keep what a kernel said while it is busy', () => {
    const kernel = new FakeKernel('k');
    const notebook = new FakeNotebook(kernel);
    const links = new Links();
    links.follow(notebook.panel);
    kernel.load('one');
    notebook.sessionContext.statusChanged.emit('busy');
    expect(links.forNotebook(notebook.panel)?.connected).toBe(true);
  });

  it('do not lose a comm that is opened while they look for an earlier one', async () => {
    const kernel = new FakeKernel('k');
    const notebook = new FakeNotebook(kernel);
    const links = new Links();
    jest.spyOn(kernel, 'requestCommInfo').mockResolvedValue({ content: { status: 'ok', comms: {} } });
    links.follow(notebook.panel);
    kernel.load('one');
    await settled();
    expect(links.forNotebook(notebook.panel)?.connected).toBe(true);
  });

  it('go with the notebook to another kernel, and tell so', () => {
    const first = new FakeKernel('first');
    const second = new FakeKernel('second');
    const notebook = new FakeNotebook(first);
    const links = new Links();
    links.follow(notebook.panel);
    first.load('one').hear({ kind: 'jobs', jobs: [job({})] });
    const changed = jest.fn();
    links.changed.connect(changed);
    notebook.use(second);
    expect(changed).toHaveBeenCalled();
    expect(links.forNotebook(notebook.panel)?.jobs).toEqual([]);
    second.load('two');
    expect(links.forNotebook(notebook.panel)?.connected).toBe(true);
    notebook.use(null);
    expect(links.forNotebook(notebook.panel)).toBeNull();
  });

  it('are shared by notebooks with one kernel; the connection that handles comms does the talking', () => {
    const talking = new FakeKernel('k');
    const silent = new FakeKernel('k', false);
    const [one, other] = [new FakeNotebook(talking), new FakeNotebook(silent)];
    const links = new Links();
    links.follow(one.panel);
    links.follow(other.panel);
    talking.load('one');
    expect(links.forNotebook(other.panel)).toBe(links.forNotebook(one.panel));
    expect(links.forNotebook(other.panel)?.connected).toBe(true);
  });

  it('end with the last notebook that uses the kernel', () => {
    const kernel = new FakeKernel('k');
    const notebook = new FakeNotebook(kernel);
    const links = new Links();
    links.follow(notebook.panel);
    kernel.load('one');
    notebook.disposed.emit();
    expect(links.forNotebook(notebook.panel)).toBeNull();
  });

  it('give the settings to every kernel, also to one that comes later', async () => {
    const [early, late] = [new FakeKernel('early'), new FakeKernel('late')];
    const links = new Links();
    links.follow(new FakeNotebook(early).panel);
    const first = early.load('one');
    links.configure({ sandbox: 'local' });
    links.follow(new FakeNotebook(late).panel);
    const second = late.load('two');
    await settled();
    for (const comm of [first, second]) {
      expect(comm.said[comm.said.length - 1]).toEqual({ kind: 'settings', values: { sandbox: 'local' } });
    }
  });

  it('pass on what a kernel refuses', () => {
    const kernel = new FakeKernel('k');
    const links = new Links();
    const refused = jest.fn();
    links.refused.connect((_, sentences) => refused(sentences));
    links.follow(new FakeNotebook(kernel).panel);
    kernel.load('one').hear({ kind: 'settings', settings: {}, refused: { model: 'No.' } });
    expect(refused).toHaveBeenCalledWith(['No.']);
  });
});
