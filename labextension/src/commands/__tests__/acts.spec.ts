import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { NotebookPanel } from '@jupyterlab/notebook';

import type { CodeEditors } from '../../inspector/codeEditors';
import type { Inspectors } from '../../inspector/inspectors';
import { job } from '../../link/__tests__/fakes';
import type { IResults } from '../../results/tokens';
import { acts } from '../acts';

jest.mock('../../cells/place', () => ({}));

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
  ['decline', [{ question: 'fiscalmonths' }]]
])('asks the kernel to %s, and of a question that it is the one that was seen', async (action, details) => {
  await execute(action);
  expect(request.mock.calls).toEqual([[action, 'growth', ...details]]);
});

it('says that there is no kernel', async () => {
  await expect(execute('check-split', null)).rejects.toThrow('The notebook has no kernel.');
});
