import { VOCABULARY } from '../../vocabulary';
import { KernelLink, PATIENCE, PATIENCE_WITH_CHECKS } from '../kernelLink';
import type { Said } from '../messages';
import { PROTOCOL } from '../messages';
import type { IJob, IVariable } from '../tokens';
import { FakeComm, job } from './fakes';

const WELCOME = { kind: 'welcome', client: 'x', protocol: PROTOCOL, version: '0.1.0', vocabulary: VOCABULARY };

const NOW = Promise.resolve();

let link: KernelLink;

beforeEach(() => {
  link = new KernelLink();
});

afterEach(() => {
  link.dispose();
});

function connected(): FakeComm {
  const comm = new FakeComm('one');
  link.attach(comm, NOW);
  comm.hear(WELCOME);
  return comm;
}

function requestOf(comm: FakeComm): Extract<Said, { kind: 'request' }> {
  return comm.said[comm.said.length - 1] as Extract<Said, { kind: 'request' }>;
}

describe('a link to a kernel', () => {
  it('says hello and then the settings when it can, and is connected when it is welcomed', async () => {
    const comm = new FakeComm('one');
    link.configure({ model: 'openai/x' });
    let reach = (): void => undefined;
    link.attach(comm, new Promise(resolve => (reach = resolve)));
    await NOW;
    expect(comm.said).toEqual([]);
    reach();
    await NOW;
    expect(comm.said).toEqual([
      { kind: 'hello', client: expect.any(String) },
      { kind: 'settings', values: { model: 'openai/x' } }
    ]);
    expect(link.connected).toBe(false);
    comm.hear(WELCOME);
    expect(link.connected).toBe(true);
  });

  it('keeps what the kernel said last, and tells that it changed', () => {
    const comm = connected();
    const told = jest.fn();
    link.changed.connect(told);
    const jobs: IJob[] = [job({ name: 'growth' })];
    const variables: IVariable[] = [{ name: 'sales', type: 'DataFrame', rows: 3 }];
    comm.hear({ kind: 'jobs', jobs });
    comm.hear({ kind: 'data', variables, others: { limit: 'int' } });
    expect(link.others).toEqual({ limit: 'int' });
    expect(link.jobs).toEqual(jobs);
    expect(link.variables).toEqual(variables);
    expect(Date.now() - link.heardAt).toBeLessThan(5000);
    expect(told).toHaveBeenCalledTimes(2);
  });

  it('takes the words of the kernel’s version', () => {
    const comm = new FakeComm('one');
    link.attach(comm, NOW);
    expect(link.vocabulary).toBe(VOCABULARY);
    comm.hear({ ...WELCOME, vocabulary: { ...VOCABULARY, types: ['Newer'] } });
    expect(link.vocabulary.types).toEqual(['Newer']);
  });

  it('does not stumble over what it does not know', () => {
    const comm = connected();
    for (const strange of [null, 7, [], {}, { kind: 'tomorrow' }, { kind: 'reply', id: 'nobody', ok: true }]) {
      comm.hear(strange);
    }
    expect(link.connected).toBe(true);
  });

  it('does not listen to a kernel with other messages, and says what to do', () => {
    const said: (readonly string[])[] = [];
    link.refused.connect((_, sentences) => said.push(sentences));
    const comm = new FakeComm('other');
    link.attach(comm, Promise.resolve());
    comm.hear({ ...WELCOME, protocol: PROTOCOL + 1, version: '9.0' });
    comm.hear({ kind: 'jobs', jobs: [{ name: 'growth' }] });
    expect([link.connected, link.jobs]).toEqual([false, []]);
    expect(said[0][0]).toContain('version 9.0 of autocoder_jupyter');
  });

  it('gives the value of the reply to the one who asked', async () => {
    const comm = connected();
    const code = link.request('code', 'growth');
    const cancelled = link.request('cancel', 'other');
    const [first, second] = comm.said.slice(-2) as Extract<Said, { kind: 'request' }>[];
    comm.hear({ kind: 'reply', id: second.id, ok: true, value: null });
    comm.hear({ kind: 'reply', id: first.id, ok: true, value: 'def run(): ...' });
    await expect(code).resolves.toBe('def run(): ...');
    await expect(cancelled).resolves.toBeNull();
  });

  it('says a path only where there is one', async () => {
    const comm = connected();
    void link.request('export', 'growth', { path: 'a.py' }).catch(() => undefined);
    expect(requestOf(comm)).toMatchObject({ action: 'export', name: 'growth', path: 'a.py' });
    void link.request('cancel', 'growth').catch(() => undefined);
    expect(requestOf(comm)).not.toHaveProperty('path');
  });

  it('rejects with the kernel’s sentence', async () => {
    const comm = connected();
    const asked = link.request('approve', 'growth', { question: 'call-2' });
    comm.hear({ kind: 'reply', id: requestOf(comm).id, ok: false, error: 'growth waits for nothing.' });
    await expect(asked).rejects.toThrow('growth waits for nothing.');
  });

  it('gives up waiting after a while, and says that it is not lost', async () => {
    jest.useFakeTimers();
    try {
      connected();
      const asked = link.request('cancel', 'growth');
      jest.advanceTimersByTime(PATIENCE);
      await expect(asked).rejects.toThrow(/busy.*cancel growth/);
      const checks = link.request('doctor', '');
      jest.advanceTimersByTime(PATIENCE_WITH_CHECKS - 1);
      expect(await Promise.race([checks, 'still waiting'])).toBe('still waiting');
      jest.advanceTimersByTime(1);
      await expect(checks).rejects.toThrow('(doctor)');
    } finally {
      jest.useRealTimers();
    }
  });

  it('asks what is wrong with a cell, and waits as long as the kernel is busy', async () => {
    jest.useFakeTimers();
    try {
      const comm = connected();
      const asked = link.problems('%%autocode');
      const { id, ...question } = comm.said[comm.said.length - 1] as Extract<Said, { kind: 'problems' }>;
      expect(question).toEqual({ kind: 'problems', cell: '%%autocode' });
      jest.advanceTimersByTime(2 * PATIENCE);
      comm.hear({ kind: 'reply', id, ok: true, value: '[{"what": "The cell has no name."}]' });
      expect(await asked).toEqual([{ what: 'The cell has no name.' }]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('says what to do when the extension is not loaded', async () => {
    await expect(link.request('code', 'growth')).rejects.toThrow('%load_ext autocoder_jupyter');
  });

  it('says once that a cell is being written, to each kernel that is there or comes', async () => {
    const preparations = (comm: FakeComm): number => comm.said.filter(({ kind }) => kind === 'prepare').length;
    link.prepare();
    const comm = connected();
    link.prepare();
    link.prepare();
    expect(preparations(comm)).toBe(1);
    link.forget();
    const anew = connected();
    expect(preparations(anew)).toBe(0); // whoever runs a notebook again needs nothing new of the model
    link.prepare();
    expect(preparations(anew)).toBe(1);
  });

  it('forgets all when the kernel is gone, and lets nobody wait', async () => {
    const comm = connected();
    comm.hear({ kind: 'jobs', jobs: [job({ name: 'growth' })] });
    comm.hear({ kind: 'data', variables: [] });
    const asked = link.request('code', 'growth');
    const told = jest.fn();
    link.changed.connect(told);
    link.forget();
    await expect(asked).rejects.toThrow('stopped before');
    expect([link.connected, link.jobs, link.variables, link.commId]).toEqual([false, [], null, null]);
    expect(told).toHaveBeenCalledTimes(1);
    comm.hear({ kind: 'jobs', jobs: [job({ name: 'late' })] });
    expect(link.jobs).toEqual([]);
  });

  it('forgets all when the kernel closes the comm, as %unload_ext does', () => {
    const comm = connected();
    comm.close();
    expect(link.connected).toBe(false);
  });

  it('hears only the comm that it was attached to last', () => {
    const comm = connected();
    const newer = new FakeComm('two');
    link.attach(newer, NOW);
    comm.hear({ kind: 'jobs', jobs: [job({ name: 'old' })] });
    newer.hear({ kind: 'jobs', jobs: [job({ name: 'new' })] });
    expect(link.jobs.map(({ name }) => name)).toEqual(['new']);
  });

  it('says nothing over a comm that it has left meanwhile', async () => {
    const older = new FakeComm('one');
    link.attach(older, NOW);
    const comm = new FakeComm('two');
    link.attach(comm, NOW);
    await NOW;
    expect([older.said, comm.said].map(said => said.length)).toEqual([0, 2]);
  });

  it('passes on what the kernel refuses, and nothing else', () => {
    const comm = connected();
    const refused = jest.fn();
    link.refused.connect((_, sentences) => refused(sentences));
    comm.hear({ kind: 'settings', settings: {}, refused: {} });
    expect(refused).not.toHaveBeenCalled();
    comm.hear({ kind: 'settings', settings: {}, refused: { max_cost: 'max_cost takes a number.' } });
    expect(refused).toHaveBeenCalledWith(['max_cost takes a number.']);
  });

  it('tells the kernel each change of the settings at once', () => {
    const comm = connected();
    link.configure({ share: 'schema' });
    expect(comm.said[comm.said.length - 1]).toEqual({ kind: 'settings', values: { share: 'schema' } });
  });
});
