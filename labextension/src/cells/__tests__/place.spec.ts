import type { NotebookPanel } from '@jupyterlab/notebook';

import { isEmpty, writeBelow } from '../place';

jest.mock('@jupyterlab/notebook', () => ({ NotebookActions: { run: jest.fn() } }));
jest.mock('@jupyterlab/cells', () => ({ CodeCell: class {} }));
jest.mock('@jupyterlab/outputarea', () => ({}));

/** A notebook with these cells, the first of them active. */
function opened(texts: string[], type = 'code'): { panel: NotebookPanel; texts: string[] } {
  const models = texts.map((_, at) => ({
    type,
    sharedModel: { getSource: () => texts[at], setSource: (source: string) => void (texts[at] = source) }
  }));
  const sharedModel = { insertCell: (at: number, { source }: { source: string }) => texts.splice(at, 0, source) };
  const content = {
    activeCell: { model: models[0] },
    activeCellIndex: 0,
    widgets: [],
    deselectAll: () => undefined
  };
  return { panel: { content, model: { cells: models, readOnly: false, sharedModel } } as never, texts };
}

it.each([
  [[''], true],
  [['', ' \n'], true],
  [['', 'x'], false]
])('knows an empty notebook: %j', (texts, isSo) => {
  expect(isEmpty(opened(texts).panel)).toBe(isSo);
});

it.each([
  [['', 'x'], 'code', ['new', 'x']],
  [['x', ''], 'code', ['x', 'new', '']],
  [['', 'x'], 'markdown', ['', 'new', 'x']]
])('fills an empty cell of code, and writes below others: %j (%s)', (before, type, after) => {
  const { panel, texts } = opened([...before], type);
  writeBelow(panel, 'new');
  expect(texts).toEqual(after);
});
