import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';

import { job } from '../../link/__tests__/fakes';
import type { IJob, IKernelLink, ILink } from '../../link/tokens';
import { CurrentResults } from '../current';

/** A notebook with these cells, by id. */
class FakeNotebook {
  constructor(readonly cells: { [id: string]: string }) {}

  isDisposed = false;
  readonly content = { modelContentChanged: new Signal<object, void>({}) };
  readonly context = { pathChanged: new Signal<object, string>({}), ready: Promise.resolve() };

  get model(): object {
    const cells = Object.entries(this.cells);
    return { cells: cells.map(([id, text]) => ({ id, type: 'code', sharedModel: { getSource: () => text } })) };
  }
}

class FakeLink {
  jobs: IJob[] = [];
  readonly changed = new Signal<object, void>({});
}

/** A page with a current notebook, and the link of each. */
class Page {
  readonly links = new Map<FakeNotebook, FakeLink>();
  readonly tracker = { currentWidget: null as FakeNotebook | null, currentChanged: new Signal<object, unknown>({}) };
  readonly link = {
    changed: new Signal<object, void>({}),
    forNotebook: (panel: NotebookPanel) => this.links.get(panel as unknown as FakeNotebook) as unknown as IKernelLink
  };
  readonly results = new CurrentResults(this.tracker as unknown as INotebookTracker, this.link as unknown as ILink);

  go(notebook: FakeNotebook | null): void {
    this.tracker.currentWidget = notebook;
    this.tracker.currentChanged.emit(null);
  }

  get names(): string[] {
    return this.results.entries.map(({ name, job }) => (job === null ? name : `${name}!`));
  }
}

const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve));
let page: Page;

beforeEach(() => {
  page = new Page();
});

it('are those of the notebook that a person works in', async () => {
  const [one, other] = [new FakeNotebook({ a: '%%autocode one\nx' }), new FakeNotebook({ a: '%%autocode other\nx' })];
  page.links.set(one, new FakeLink());
  page.links.set(other, new FakeLink());
  page.go(one);
  await settled();
  expect(page.names).toEqual(['one']);
  page.go(other);
  await settled();
  expect(page.names).toEqual(['other']);
  page.go(null);
  expect(page.names).toEqual([]);
});

it('follow what the kernel says, and no other kernel', async () => {
  const [one, other] = [new FakeNotebook({ a: '%%autocode one\nx' }), new FakeNotebook({})];
  const link = new FakeLink();
  page.links.set(one, link);
  page.go(one);
  await settled();
  link.jobs = [job({ name: 'one', cell_id: 'a' })];
  link.changed.emit();
  expect(page.names).toEqual(['one!']);
  page.go(other);
  const told = jest.fn();
  page.results.changed.connect(told);
  link.changed.emit();
  expect(told).not.toHaveBeenCalled();
  expect(page.names).toEqual([]);
});

it('follow the notebook to another kernel', async () => {
  const notebook = new FakeNotebook({ a: '%%autocode one\nx' });
  const [before, after] = [new FakeLink(), new FakeLink()];
  before.jobs = [job({ name: 'one' })];
  page.links.set(notebook, before);
  page.go(notebook);
  await settled();
  expect(page.names).toEqual(['one!']);
  page.links.set(notebook, after);
  page.link.changed.emit();
  expect(page.names).toEqual(['one']);
});

it('read the cells again when typing pauses', async () => {
  const notebook = new FakeNotebook({ a: '1 + 1' });
  page.links.set(notebook, new FakeLink());
  page.go(notebook);
  await settled();
  jest.useFakeTimers();
  notebook.cells.a = '%%autocode grow';
  notebook.content.modelContentChanged.emit();
  notebook.cells.a = '%%autocode growth';
  notebook.content.modelContentChanged.emit();
  expect(page.names).toEqual([]);
  jest.advanceTimersByTime(1000);
  expect(page.names).toEqual(['growth']);
  jest.useRealTimers();
});
