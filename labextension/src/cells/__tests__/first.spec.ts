import type { NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';

import type { IKernelLink } from '../../link/tokens';
import { EXAMPLE, LOAD, SAMPLE, newCell } from '../first';
import { isEmpty, writeBelow } from '../place';

jest.mock('@jupyterlab/notebook', () => ({ NotebookActions: { run: jest.fn() } }));
jest.mock('../names', () => ({ namedCells: () => [] }));
jest.mock('../place', () => ({ isEmpty: jest.fn(() => false), writeBelow: jest.fn() }));

const TABLE = { name: 'sales', type: 'DataFrame' };
const inserted = (): unknown[] => jest.mocked(writeBelow).mock.calls.map(([, source]) => source);

/** A link to a kernel, of which nothing is known at first. */
function unknown(): { -readonly [name in keyof IKernelLink]: IKernelLink[name] } & { tell: () => void } {
  const link = { connected: false, absent: false, variables: null } as never as ReturnType<typeof unknown>;
  const changed = new Signal<IKernelLink, void>(link);
  return Object.assign(link, { changed, tell: () => changed.emit() });
}

function panelOf(cell: object): NotebookPanel {
  return { content: { activeCellIndex: 0, activeCell: cell } } as unknown as NotebookPanel;
}

it('selects the words to replace in the new cell, and then focuses it, as soon as its editor is there', async () => {
  const did: string[] = [];
  let draw: () => void;
  const cell: { ready: Promise<void>; editor: object | null } = {
    ready: new Promise(resolve => (draw = resolve)),
    editor: null
  };
  const link = Object.assign(unknown(), { connected: true, variables: [] });
  const done = newCell(panelOf(cell), link);
  await Promise.resolve();
  expect(did).toEqual([]);
  cell.editor = {
    setSelection: (selection: object) => did.push(JSON.stringify(selection)),
    focus: () => did.push('focus')
  };
  draw!();
  await done;
  expect(did).toEqual(['{"start":{"line":1,"column":0},"end":{"line":1,"column":23}}', 'focus']);
});

it('does not load the extension again if that was loaded a moment ago, and names a table of the kernel', async () => {
  const link = unknown();
  const done = newCell(panelOf({}), link);
  await Promise.resolve();
  expect(inserted()).toEqual([]);
  Object.assign(link, { connected: true });
  link.tell();
  Object.assign(link, { variables: [TABLE] });
  link.tell();
  await done;
  expect(inserted()).toEqual(['%%autocode result\nDescribe what you need from @sales.']);
  expect(NotebookActions.run).not.toHaveBeenCalled();
});

it('loads it first if the kernel does not have it', async () => {
  const link = Object.assign(unknown(), { absent: true });
  jest.mocked(NotebookActions.run).mockImplementation(async () => {
    Object.assign(link, { absent: false, connected: true, variables: [TABLE] });
    return true;
  });
  await newCell(panelOf({}), link);
  expect(inserted()).toEqual(['%load_ext autocoder_jupyter', '%%autocode result\nDescribe what you need from @sales.']);
});

/** An editor that remembers its selection, in a cell that is drawn. */
function drawn(): { ready: Promise<void>; editor: { setSelection: jest.Mock; focus: jest.Mock } } {
  return { ready: Promise.resolve(), editor: { setSelection: jest.fn(), focus: jest.fn() } };
}

it('writes an empty notebook whose request works: the extension, a table, and what is asked of it', async () => {
  jest.mocked(isEmpty).mockReturnValueOnce(true);
  const link = Object.assign(unknown(), { absent: true });
  const ran: unknown[] = [];
  jest.mocked(NotebookActions.run).mockImplementation(async () => {
    Object.assign(link, { absent: false, connected: true, variables: [] });
    ran.push(inserted().at(-1));
    return true;
  });
  const cell = drawn();
  await newCell(panelOf(cell), link);
  expect(inserted()).toEqual([LOAD, SAMPLE, `%%autocode totals\n${EXAMPLE}`]);
  expect(ran).toEqual([LOAD, SAMPLE]); // the request is only written
  const end = { line: 1, column: EXAMPLE.length };
  expect(cell.editor.setSelection).toHaveBeenCalledWith({ start: end, end });
});

it('leaves out the table if the kernel has data', async () => {
  jest.mocked(isEmpty).mockReturnValueOnce(true);
  await newCell(panelOf({}), Object.assign(unknown(), { connected: true, variables: [TABLE] }));
  expect(inserted()).toEqual(['%%autocode result\nDescribe what you need from @sales.']);
  expect(NotebookActions.run).not.toHaveBeenCalled();
});

it('writes what it is given, and runs only what loads the extension', async () => {
  const cell = drawn();
  const write = jest.fn(() => '%%autocode fixed\nDo it.\n\n    x');
  const link = Object.assign(unknown(), { connected: true, variables: [TABLE] });
  await newCell(panelOf(cell), link, write);
  expect(write).toHaveBeenCalledWith([], [TABLE]);
  expect(inserted()).toEqual(['%%autocode fixed\nDo it.\n\n    x']);
  expect(NotebookActions.run).not.toHaveBeenCalled();
  const end = { line: 1, column: 6 };
  expect(cell.editor.setSelection).toHaveBeenCalledWith({ start: end, end });
});
