import type { NotebookPanel } from '@jupyterlab/notebook';

import type { IKernelLink } from '../../link/tokens';
import { newCell } from '../first';

jest.mock('@jupyterlab/notebook', () => ({ NotebookActions: { run: jest.fn() } }));
jest.mock('../names', () => ({ namedCells: () => [] }));
jest.mock('../place', () => ({ insertBelow: jest.fn() }));

const LINK = { connected: true, variables: [] } as unknown as IKernelLink;

it('selects the words to replace in the new cell, and then focuses it, as soon as its editor is there', async () => {
  const did: string[] = [];
  let draw: () => void;
  const cell: { ready: Promise<void>; editor: object | null } = {
    ready: new Promise(resolve => (draw = resolve)),
    editor: null
  };
  const panel = { content: { activeCellIndex: 0, activeCell: cell } };
  const done = newCell(panel as unknown as NotebookPanel, LINK);
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
