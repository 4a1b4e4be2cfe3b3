import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { MimeModel } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { PartialJSONObject } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import { job } from '../../link/__tests__/fakes';
import type { IJob, IKernelLink, ILink } from '../../link/tokens';
import type { ModelForm } from '../modelForm';
import type { Commands } from '../strip';
import { Strip } from '../strip';
import { FOLLOWED_MIME, FollowedOutput, PAUSE, followedIn } from '../followed';

/** What a kernel says of its runs, and the card that it gives who asks. */
class Kernel {
  absent = false;
  heardAt = 1;
  jobs: IJob[] = [];
  asked: string[] = [];
  reply: () => Promise<string | null> = () => Promise.reject(new Error('no'));
  readonly changed = new Signal<object, void>({});

  async request(action: string, name: string): Promise<string | null> {
    this.asked.push(`${action} ${name}`);
    return await this.reply();
  }

  says(change: Partial<Kernel>): void {
    Object.assign(this, change);
    this.changed.emit();
  }
}

const sessionContext = {
  isReady: true,
  session: {} as object | null,
  initialize: async () => sessionContext.session === null,
  statusChanged: new Signal<object, string>({}),
  kernelChanged: new Signal<object, object>({})
};
const notebook = { sessionContext } as unknown as NotebookPanel;

const rendermime = {
  createRenderer: (mimeType: string) => {
    const renderer = new Widget() as Widget & IRenderMime.IRenderer;
    renderer.renderModel = async model => {
      renderer.node.innerHTML = `${model.trusted ? '' : 'sanitized: '}${String(model.data[mimeType])}`;
    };
    return renderer;
  }
} as unknown as IRenderMimeRegistry;

function bundle(html: string, step: string, more: object = {}): PartialJSONObject {
  const followed = { shows: 'card', name: 'growth', started: 7, step, finished: false, ...more };
  return { [FOLLOWED_MIME]: followed, 'text/html': html };
}

const RESULT = { 'application/vnd.autocoder-jupyter.widget+json': { model_id: 'w' }, 'text/html': 'the result' };

/** Keeps what was put into it, and has the output rendered again, as JupyterLab does. */
function output(data: PartialJSONObject, trusted = true): MimeModel {
  const callback: MimeModel.IOptions['callback'] = change => {
    kept.push(change.data!);
    void render(change.data as PartialJSONObject, trusted);
  };
  return new MimeModel({ trusted, data, callback });
}

async function render(data: PartialJSONObject, trusted = true): Promise<void> {
  await card.renderModel(output(data, trusted));
}

/** What is read, without the buttons. */
const text = (): string =>
  card.widgets
    .filter(widget => !(widget instanceof Strip))
    .map(widget => widget.node.textContent)
    .join('');
const pause = (): Promise<void> => jest.advanceTimersByTimeAsync(PAUSE + 10);

let kept: object[];
let kernel: Kernel;
let link: IKernelLink | null;
let links: { changed: Signal<object, void>; forNotebook: () => IKernelLink | null };
let card: FollowedOutput;
let acted: unknown[][];
const commands = {
  hasCommand: (id: string) => !id.endsWith('a-newer-kernel-has-more'),
  execute: async (...given: unknown[]) => acted.push(given)
} as Commands;

beforeEach(() => {
  jest.useFakeTimers();
  kept = [];
  kernel = new Kernel();
  link = kernel as unknown as IKernelLink;
  links = { changed: new Signal<object, void>({}), forNotebook: () => link };
  sessionContext.isReady = true;
  sessionContext.session = {};
  acted = [];
  card = new FollowedOutput(notebook, rendermime, links as unknown as ILink, commands);
});

afterEach(() => {
  card.dispose();
  jest.useRealTimers();
});

it('shows the HTML, and asks for nothing as long as the run has come no further', async () => {
  kernel.jobs = [job({ started: 7, step: 'plan' })];
  await render(bundle('planning', 'plan'));
  await pause();
  kernel.says({ heardAt: 2 });
  await pause();
  expect(text()).toBe('planning');
  expect(kernel.asked).toEqual([]);
});

it('leaves a moment for the update that comes by itself', async () => {
  await render(bundle('planning', 'plan'));
  kernel.says({ jobs: [job({ started: 7, step: 'code' })] });
  await jest.advanceTimersByTimeAsync(PAUSE - 100);
  await render(bundle('coding', 'code'));
  await pause();
  expect(text()).toBe('coding');
  expect(kernel.asked).toEqual([]);
});

it('catches up with a run that went on, without a change of the notebook', async () => {
  kernel.jobs = [job({ started: 7, step: 'code' })];
  kernel.reply = async () => JSON.stringify(bundle('coding', 'code'));
  await render(bundle('planning', 'plan'));
  await pause();
  expect(kernel.asked).toEqual(['card growth']);
  expect(text()).toBe('coding');
  await pause();
  expect(kernel.asked).toHaveLength(1);
  expect(kept).toEqual([]);
});

it('puts the last card into the notebook, and asks no more', async () => {
  kernel.jobs = [job({ started: 7, step: 'ready' })];
  kernel.reply = async () => JSON.stringify(bundle('ready', 'ready', { finished: true }));
  await render(bundle('planning', 'plan'));
  await pause();
  expect(text()).toBe('ready');
  expect(kept).toEqual([bundle('ready', 'ready', { finished: true })]);
  kernel.says({ absent: true, jobs: [] });
  await pause();
  expect(text()).toBe('ready');
  expect(kernel.asked).toHaveLength(1);
});

it.each<[string, Partial<Kernel>]>([
  ['the kernel is gone or began anew', { absent: true }],
  ['the kernel has no such run', { jobs: [] }],
  ['the cell was run again', { jobs: [job({ started: 8, step: 'plan' })] }]
])('says that it was cut off when %s', async (_, change) => {
  kernel.jobs = [job({ started: 7, step: 'plan' })];
  await render(bundle('planning', 'plan'));
  await pause();
  expect(text()).toBe('planning');
  kernel.says(change);
  await pause();
  expect(text()).toMatch(/^planningInterrupted: /);
  expect(card.hasClass('jp-mod-interrupted')).toBe(true);
});

it.each([
  ['card', '● Interrupted of growth'],
  ['result', 'growth was interrupted. of growth']
])('does not say of a %s what an interrupted run no longer does, until it goes on after all', async (shows, words) => {
  const html = '<strong class="autocode-under-way">● Writing code</strong> of growth';
  await render(bundle(html, 'code', { shows }));
  await pause();
  expect(text()).toMatch(new RegExp(`^${words}Interrupted: `));
  kernel.says({ jobs: [job({ started: 7, step: 'code' })] });
  await pause();
  expect(text()).toBe('● Writing code of growth');
  kernel.says({ jobs: [] });
  await pause();
  await render(bundle('<strong>● Ready</strong>', 'ready', { shows, finished: true }));
  expect(text()).toBe('● Ready');
});

it('takes that back when the run goes on after all', async () => {
  await render(bundle('planning', 'plan'));
  await pause();
  expect(text()).toMatch(/Interrupted/);
  kernel.says({ jobs: [job({ started: 7, step: 'plan' })] });
  await pause();
  expect(text()).toBe('planning');
  expect(card.hasClass('jp-mod-interrupted')).toBe(false);
});

it('concludes nothing before the kernel is there and has said what it has', async () => {
  sessionContext.isReady = false;
  kernel.absent = true;
  await render(bundle('planning', 'plan'));
  await pause();
  expect(text()).toBe('planning');
  sessionContext.isReady = true;
  kernel.says({ absent: false, heardAt: 0 });
  await pause();
  expect(text()).toBe('planning');
});

it('says so in a notebook that is opened without a kernel', async () => {
  sessionContext.isReady = false;
  sessionContext.session = null;
  link = null;
  await render(bundle('planning', 'plan'));
  await pause();
  expect(text()).toMatch(/Interrupted/);
});

it('says so when the notebook has no kernel any more', async () => {
  kernel.jobs = [job({ started: 7, step: 'plan' })];
  await render(bundle('planning', 'plan'));
  link = null;
  links.changed.emit();
  await pause();
  expect(text()).toMatch(/Interrupted/);
});

it.each<[string, () => Promise<string | null>]>([
  ['no answer', () => Promise.reject(new Error('busy'))],
  ['an answer that is none', async () => 'nonsense'],
  ['nothing', async () => null],
  ['the card of another run', async () => JSON.stringify(bundle('other', 'code', { started: 9 }))]
])('keeps what it shows when it gets %s', async (_, reply) => {
  kernel.jobs = [job({ started: 7, step: 'code' })];
  kernel.reply = reply;
  await render(bundle('planning', 'plan'));
  await pause();
  expect(kernel.asked).toHaveLength(1);
  expect(text()).toBe('planning');
});

it('puts a result into the place of its line when its run has ended, and not before', async () => {
  kernel.jobs = [job({ started: 7, step: 'plan' })];
  kernel.reply = async () => JSON.stringify(RESULT);
  await render(bundle('to come', '', { shows: 'result' }));
  await pause();
  kernel.says({ jobs: [job({ started: 7, step: 'code', phase: 'waiting' })] });
  await pause();
  expect(kernel.asked).toEqual([]);
  kernel.says({ jobs: [job({ started: 7, step: 'ready', phase: 'ready' })] });
  await pause();
  expect(kernel.asked).toEqual(['result growth']);
  expect(kept).toEqual([RESULT]);
});

it('says of a result to come that its run was cut off', async () => {
  await render(bundle('to come', '', { shows: 'result' }));
  await pause();
  expect(text()).toMatch(/^to comeInterrupted: /);
  expect(kernel.asked).toEqual([]);
});

it('does not take the result of a run that came after', async () => {
  let answer: (text: string) => void = () => undefined;
  kernel.jobs = [job({ started: 7, phase: 'cancelled' })];
  kernel.reply = () => new Promise(resolve => (answer = resolve));
  await render(bundle('to come', '', { shows: 'result' }));
  await pause();
  kernel.jobs = [job({ started: 8 })];
  answer(JSON.stringify(RESULT));
  await jest.advanceTimersByTimeAsync(0);
  expect(text()).toBe('to come');
  expect(kept).toEqual([]);
});

it('prefers an update to an answer that was asked for before it', async () => {
  let answer: (text: string) => void = () => undefined;
  kernel.jobs = [job({ started: 7, step: 'code' })];
  kernel.reply = () => new Promise(resolve => (answer = resolve));
  await render(bundle('planning', 'plan'));
  await pause();
  await render(bundle('running', 'run'));
  answer(JSON.stringify(bundle('coding', 'code')));
  await jest.advanceTimersByTimeAsync(0);
  expect(text()).toBe('running');
});

it('shows sanitized HTML of an untrusted notebook', async () => {
  await render(bundle('planning', 'plan'), false);
  expect(text()).toBe('sanitized: planning');
});

it.each<[string, PartialJSONObject]>([
  ['a finished card', bundle('ready', 'ready', { finished: true })],
  ['a card that does not say which run it is of', { [FOLLOWED_MIME]: { name: 'growth' }, 'text/html': 'old' }]
])('does not follow %s', async (_, data) => {
  await render(data);
  kernel.says({ absent: true });
  await pause();
  expect(text()).toBe(data['text/html']);
});

it('follows nothing outside of a notebook', async () => {
  const alone = new FollowedOutput(null, rendermime, links as unknown as ILink, commands);
  await alone.renderModel(output(bundle('planning', 'plan')));
  await pause();
  expect(alone.node.textContent).toBe('planning');
  alone.dispose();
});

it('is silent once it is disposed', async () => {
  kernel.jobs = [job({ started: 7, step: 'code' })];
  await render(bundle('planning', 'plan'));
  card.dispose();
  kernel.says({ heardAt: 3 });
  await pause();
  expect(kernel.asked).toEqual([]);
});

const WHOLE = { shows: 'card', name: 'a', started: 7, step: '', finished: true };

it.each([[null], ['text'], [[]], [{}], [{ ...WHOLE, started: '7' }], [{ ...WHOLE, shows: 'x' }]])(
  'knows that %j tells of no run',
  said => {
    expect(followedIn({ [FOLLOWED_MIME]: said as never })).toBeNull();
  }
);

const CANCEL = { cancel: 'Cancel' };

const buttons = (): (string | null)[] => [...card.node.querySelectorAll('button')].map(button => button.textContent);

it('offers what fits the run, and leaves a button in its place while the card is made anew', async () => {
  document.body.append(card.node);
  kernel.jobs = [job({ started: 7, step: 'plan', buttons: CANCEL })];
  await render(bundle('planning', 'plan'));
  expect(buttons()).toEqual(['Cancel']);
  const cancel = card.node.querySelector('button')!;
  cancel.focus();
  kernel.says({ jobs: [job({ started: 7, step: 'code', buttons: CANCEL })] });
  await render(bundle('coding', 'code'));
  expect(document.activeElement).toBe(cancel);
  cancel.click();
  expect(acted).toEqual([['autocoder-jupyter:cancel', { name: 'growth' }]]);
  const ended: Partial<IJob> = {
    step: 'end',
    phase: 'cancelled',
    buttons: { retry: 'Retry', 'edit-request': 'Edit the request' }
  };
  kernel.says({ jobs: [job({ started: 7, cell_id: 'c', ...ended })] });
  expect(buttons()).toEqual(['Retry', 'Edit the request']);
  expect(document.activeElement?.textContent).toBe('Retry');
});

it('offers what the kernel says, and no change of a cell that is not there', () => {
  const strip = new Strip(commands);
  const offered = (given: Partial<IJob>): string => {
    strip.offer(job({ cell_id: 'c', ...given }));
    return [...strip.node.querySelectorAll('button')].map(button => button.textContent).join();
  };
  expect(offered({ phase: 'ready', buttons: { call: 'Run', 'insert-call': 'Insert call' } })).toBe('Run,Insert call');
  expect(offered({ phase: 'ready', buttons: { inspect: '<b>Inspect</b>' } })).toBe('<b>Inspect</b>');
  const limited = { retry: 'Retry', 'edit-request': 'Edit', 'edit-code': 'Code', 'raise-limit': 'Raise' };
  expect(offered({ buttons: limited })).toBe('Retry,Edit,Code,Raise');
  expect(offered({ buttons: limited, cell_id: null })).toBe('Retry,Code');
  expect(offered({ buttons: { 'a-newer-kernel-has-more': 'More', retry: 'Retry' } })).toBe('Retry');
  expect(offered({ phase: 'ready', actions: undefined, buttons: undefined })).toBe('');
  strip.dispose();
});

it('offers nothing for a run that the kernel does not have', async () => {
  kernel.jobs = [job({ started: 8, phase: 'ready' })];
  await render(bundle('ready', 'end', { finished: true }));
  expect(buttons()).toEqual([]);
});

it('asks below its card which model is meant while the kernel asks for one, and only once', async () => {
  const make = jest.fn(() => new Widget() as ModelForm);
  const kernel = new Kernel();
  const links = { forNotebook: () => kernel, changed: new Signal<object, void>({}) } as unknown as ILink;
  const commands = { hasCommand: () => true } as unknown as Commands;
  const output = new FollowedOutput(notebook, rendermime, links, commands, make);
  await output.renderModel(new MimeModel({ trusted: true, data: bundle('a card', 'a', { finished: true }) }));
  const failed = job({ name: 'growth', started: 7, phase: 'failed', actions: ['choose-model'] });
  kernel.says({ jobs: [failed] });
  kernel.says({ jobs: [{ ...failed, seconds: 2 }] });
  expect(make).toHaveBeenCalledTimes(1);
  const form = make.mock.results[0].value as Widget;
  expect(output.node.contains(form.node)).toBe(true);
  kernel.says({ jobs: [{ ...failed, phase: 'running', actions: ['cancel'] }] });
  expect(form.isDisposed).toBe(true);
  output.dispose();
});
