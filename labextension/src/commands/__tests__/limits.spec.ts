import { InputDialog } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';

import { job } from '../../link/__tests__/fakes';
import { askForPrices, raiseLimit } from '../limits';

jest.mock('../../cells/place', () => ({ indexOf: () => 0, reveal: jest.fn() }));

it('does not show an amount that is not a whole number as invalid', async () => {
  const shown = document.createElement('div');
  shown.innerHTML = '<input type="number">';
  const field = shown.querySelector('input')!;
  jest.spyOn(InputDialog, 'getNumber').mockImplementation(async ({ renderer, value }) => {
    renderer!.createBody(new Widget({ node: shown })).dispose();
    field.value = String(value);
    return { button: { accept: false }, value: null, isChecked: null } as never;
  });
  const notebook = { content: { widgets: [{}] } } as unknown as NotebookPanel;
  const stopped = job({ phase: 'over_budget', limit: 'max_cost', limit_value: 0.03, limit_next: 0.06 });
  expect(await raiseLimit(notebook, { name: 'growth', cellId: 'a', job: stopped })).toBe(false);
  expect([field.value, field.checkValidity()]).toEqual(['0.06', true]);
});

it('asks for the prices of a million tokens, one after the other', async () => {
  const answers = [2, 8, 2, null];
  jest.spyOn(InputDialog, 'getNumber').mockImplementation(async () => {
    const value = answers.shift()!;
    return { button: { accept: value !== null }, value, isChecked: null } as never;
  });
  expect(await askForPrices('growth')).toEqual([2, 8]);
  expect(await askForPrices('growth')).toBeNull();
});
