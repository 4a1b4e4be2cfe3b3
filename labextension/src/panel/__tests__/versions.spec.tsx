import * as React from 'react';
import { act } from 'react';
import { createRoot } from 'react-dom/client';

import type { IVersion } from '../versionManager';
import { Versions } from '../versions';

const FIRST: IVersion = {
  number: '1',
  started: '2026-05-01 09:00',
  state: 'ready',
  by: 'the model, 1 attempt',
  evidence: '6 tests passed',
  why: '',
  request: 'Monthly growth.'
};
const SECOND = { ...FIRST, number: '2', state: 'ready · current', by: 'you', why: 'edited by you' };
const FAILED = { ...FIRST, number: '3', state: 'failed' };

const versionManager = {
  versions: jest.fn(async () => [FIRST, SECOND, FAILED] as readonly IVersion[]),
  change: jest.fn(async () => 'growth is version 1 again.'),
  rename: jest.fn(async () => '')
};

async function opened(): Promise<HTMLElement> {
  const node = document.createElement('div');
  act(() => createRoot(node).render(<Versions name="growth" run="a" versionManager={versionManager} />));
  expect(versionManager.versions).not.toHaveBeenCalled();
  const details = node.querySelector('details')!;
  details.open = true;
  await act(async () => {
    details.dispatchEvent(new Event('toggle', { bubbles: true }));
  });
  return node;
}

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});

beforeEach(() => jest.clearAllMocks());

it('says who made each version and why, and offers what fits it', async () => {
  const node = await opened();
  const items = [...node.querySelectorAll('li')];
  expect(items[1].textContent).toContain('2 ready · current · you · 2026-05-01 09:00');
  expect(items[1].textContent).toContain('edited by you');
  expect(items[0].textContent).toContain('6 tests passed');
  expect(items.map(item => [...item.querySelectorAll('button')].map(button => button.textContent))).toEqual([
    ['Restore', 'Pin', 'Remove'],
    ['Pin', 'Remove'],
    ['Remove']
  ]);
});

it('does what is pressed, says what became of it, and looks again', async () => {
  const node = await opened();
  await act(async () => node.querySelector<HTMLElement>('[aria-label="Restore version 1 of growth"]')!.click());
  expect(versionManager.change).toHaveBeenCalledWith('restore', 'growth', FIRST);
  expect(node.querySelector('[role=status]')!.textContent).toBe('growth is version 1 again.');
  expect(versionManager.versions).toHaveBeenCalledTimes(2);
});

it('says why it could not be done', async () => {
  versionManager.change.mockRejectedValueOnce(new Error('growth is running.'));
  const node = await opened();
  await act(async () => node.querySelector<HTMLElement>('[aria-label="Pin version 1 of growth"]')!.click());
  expect(node.querySelector('[role=status]')!.textContent).toBe('growth is running.');
});

it('keeps the keyboard in the list when the pressed button goes', async () => {
  const node = await opened();
  document.body.replaceChildren(node);
  versionManager.versions.mockResolvedValueOnce([{ ...FIRST, state: 'ready · current' }]);
  const restore = node.querySelector<HTMLElement>('[aria-label="Restore version 1 of growth"]')!;
  restore.focus();
  await act(async () => restore.click());
  expect(restore.isConnected).toBe(false);
  expect(document.activeElement?.textContent).toBe('Versions');
});

it('does not repeat what passed for the current version, which stands above the list', async () => {
  versionManager.versions.mockResolvedValueOnce([{ ...SECOND, why: '' }]);
  const node = await opened();
  expect(node.querySelector('li')!.textContent).not.toContain('6 tests passed');
});
