import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { NotebookPanel } from '@jupyterlab/notebook';

import type { CodeEditors } from '../../inspector/codeEditors';
import type { Inspectors } from '../../inspector/inspectors';
import { job } from '../../link/__tests__/fakes';
import type { IResults } from '../../results/tokens';
import { acts } from '../acts';

jest.mock('../../cells/place', () => ({ reveal: () => true }));

const request = jest.fn(async () => null);
const notebook = {} as NotebookPanel;

function execute(action: string, link: object | null = { request }): Promise<unknown> {
  const surroundings = {
    app: {} as JupyterFrontEnd,
    results: { link } as IResults,
    inspectors: {} as Inspectors,
    editors: {} as CodeEditors
  };
  const act = acts(surroundings).find(act => act.action === action)!;
  const entry = { name: 'growth', cellId: 'a', job: job({ phase: 'waiting', question: 'fiscalmonths' }) };
  return (async () => act.execute({ notebook, entry }))();
}

it.each([
  ['cancel', []],
  ['check-split', []],
  ['approve', [{ question: 'fiscalmonths' }]],
  ['decline', [{ question: 'fiscalmonths' }]],
  ['silent-again', []]
])('asks the kernel to %s, and of a question that it is the one that was seen', async (action, details) => {
  await execute(action);
  expect(request.mock.calls).toEqual([[action, 'growth', ...details]]);
});

it('runs the cell of a model that costs nothing again', async () => {
  const run = jest.fn();
  const act = acts({ app: { commands: { execute: run } }, results: { link: { request } } } as never).find(
    act => act.action === 'free'
  )!;
  await act.execute({ notebook, entry: { name: 'growth', cellId: 'a', job: null } });
  expect(request.mock.calls).toEqual([['price', 'growth', { prices: [0, 0] }]]);
  expect(run).toHaveBeenCalledWith('notebook:run-cell');
});

it('says that there is no kernel', async () => {
  await expect(execute('check-split', null)).rejects.toThrow('The notebook has no kernel.');
});
