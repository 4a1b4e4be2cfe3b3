import * as React from 'react';
import { act } from 'react';
import { createRoot } from 'react-dom/client';

import { FirstRun, whatIsUsed } from '../firstRun';

const check = jest.fn();
const ask = jest.fn();
const begin = jest.fn();
let node: HTMLElement;

const DOCTOR = `sandbox   local will be used    'local' is set
  local   works                 your files are hidden
model     openai/gpt            set by JupyterLab
  key     MY_KEY is not set     replays work without it
python    3.11.7                /usr/bin/python`;

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

it('begins with what is set, and says what the kernel said', async () => {
  check.mockResolvedValue(DOCTOR);
  expect([...node.querySelectorAll('input')].map(input => input.value)).toEqual(['openai/gpt', 'MY_KEY']);
  await submit();
  expect(check).toHaveBeenCalledWith({ model: 'openai/gpt', key: 'MY_KEY' });
  expect([...node.querySelectorAll('dt')].map(name => name.textContent)).toEqual(['sandbox', 'model', 'key']);
  expect(node.querySelectorAll('dd')[2].textContent).toBe('MY_KEY is not setreplays work without it');
  expect(node.querySelector('pre')!.textContent).toBe(DOCTOR); // closed
});

it('takes a sentence for no table', () => {
  expect(whatIsUsed('The notebook has no kernel.\nmodel')).toEqual([]);
});

it('says why it could not look, and can be asked again', async () => {
  check.mockRejectedValue(new Error('The notebook has no kernel.'));
  await submit();
  expect(said()).toBe('The notebook has no kernel.');
  expect(node.querySelector<HTMLButtonElement>('[type=submit]')!.disabled).toBe(false);
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
