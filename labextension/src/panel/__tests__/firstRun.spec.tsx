import * as React from 'react';
import { act } from 'react';
import { createRoot } from 'react-dom/client';

import type { ICheckedPart } from '../../link/tokens';
import { FirstRun } from '../firstRun';

const check = jest.fn();
const ask = jest.fn();
const begin = jest.fn();
let node: HTMLElement;

const part = (name: string, state: string, more: string, level: number, used: boolean): ICheckedPart => {
  return { name, state, more, level, used, bad: state.endsWith('not set') };
};
const FOUND = [
  part('sandbox', 'local will be used', "'local' is set", 0, true),
  part('local', 'works', 'your files are hidden', 1, false),
  part('model', 'openai/gpt', 'set by JupyterLab', 0, true),
  part('key', '<b>MY_KEY</b> is not set', 'replays work without it', 1, true),
  part('python', '3.11.7', '/usr/bin/python', 0, false)
];

const said = (): string | null => node.querySelector('[role=status]')!.textContent;

beforeEach(async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  jest.resetAllMocks();
  node = document.createElement('div');
  document.body.replaceChildren(node);
  const answers = (): Promise<{ model: string; key: string }> =>
    Promise.resolve({ model: 'openai/gpt', key: 'MY_KEY' });
  await act(async () => createRoot(node).render(<FirstRun start={{ answers, ask, check, begin }} />));
});

async function submit(): Promise<void> {
  await act(async () => node.querySelector('form')!.requestSubmit());
}

it('begins with what is set, and says what the kernel found, as text', async () => {
  check.mockResolvedValue(FOUND);
  expect([...node.querySelectorAll('input')].map(input => input.value)).toEqual(['openai/gpt', 'MY_KEY']);
  await submit();
  expect(check).toHaveBeenCalledWith({ model: 'openai/gpt', key: 'MY_KEY' });
  const names = (list: Element): (string | null)[] => [...list.querySelectorAll('dt')].map(name => name.textContent);
  const [used, all] = node.querySelectorAll('dl');
  expect(names(used)).toEqual(['sandbox', 'model', 'key']);
  expect([...used.querySelectorAll('dd')].map(state => state.className)).toEqual(['', '', 'jp-mod-bad']);
  expect(used.querySelectorAll('dd')[2].textContent).toBe('<b>MY_KEY</b> is not setreplays work without it');
  expect(names(all)).toEqual(['sandbox', 'local', 'model', 'key', 'python']);
  expect(all.closest('details')!.open).toBe(false);
});

it('says why it could not look, and can be asked again', async () => {
  check.mockRejectedValue(new Error('The notebook has no kernel.'));
  await submit();
  expect(said()).toBe('The notebook has no kernel.');
  await submit();
  expect(check).toHaveBeenCalledTimes(2);
});

it('checks once at a time, and keeps the focus on its button meanwhile', async () => {
  check.mockReturnValue(new Promise(() => undefined));
  const button = node.querySelector<HTMLButtonElement>('[type=submit]')!;
  button.focus();
  await submit();
  await submit();
  expect(check).toHaveBeenCalledTimes(1);
  expect(button.disabled).toBe(false);
  expect(button.getAttribute('aria-disabled')).toBe('true');
});

function pressed(words: string): void {
  [...node.querySelectorAll('button')].find(button => button.textContent === words)!.click();
}

it('asks the questions of the set-up in a cell, and says why it cannot', async () => {
  ask.mockRejectedValue(new Error('Open a notebook first.'));
  await act(async () => pressed('Set up with questions'));
  expect(ask).toHaveBeenCalled();
  expect(said()).toBe('Open a notebook first.');
});

it('puts a first cell in', () => {
  pressed('Insert a first cell');
  expect(begin).toHaveBeenCalled();
});
