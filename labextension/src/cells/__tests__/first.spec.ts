import type { NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';

import type { IKernelLink } from '../../link/tokens';
import { newCell } from '../first';
import { insertBelow } from '../place';

jest.mock('@jupyterlab/notebook', () => ({ NotebookActions: { run: jest.fn() } }));
jest.mock('../names', () => ({ namedCells: () => [] }));
jest.mock('../place', () => ({ insertBelow: jest.fn() }));

const TABLE = { name: 'sales', type: 'DataFrame' };
const inserted = (): unknown[] => jest.mocked(insertBelow).mock.calls.map(([, , source]) => source);

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
