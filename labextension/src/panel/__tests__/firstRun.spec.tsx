import * as React from 'react';
import { act } from 'react';
import type { Root } from 'react-dom/client';
import { createRoot } from 'react-dom/client';

import type { ICheckedPart } from '../../link/tokens';
import { FirstRun } from '../firstRun';
import type { IAnswers } from '../start';

const check = jest.fn();
const ready = jest.fn();
const save = jest.fn();
const ask = jest.fn();
const begin = jest.fn();
const SET: IAnswers = { model: 'openai/gpt', key: 'MY_KEY', address: '', noKey: false, prices: ['', ''] };

let node: HTMLElement;
let root: Root;
let draw: (isLoaded: boolean) => Promise<void>;
let stored: Partial<IAnswers> = {};

const STUDIO = 'http://127.0.0.1:1234/v1';

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

const SAVED =
  "Saved in JupyterLab's settings: openai/gpt and the name MY_KEY. Nothing is written into the notebook, and no key.";

const said = (): string | null => node.querySelector('[role=status]')!.textContent;

beforeEach(async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  jest.resetAllMocks();
  node = document.createElement('div');
  document.body.replaceChildren(node);
  const answers = async (): Promise<IAnswers> => ({ ...SET, ...stored });
  ready.mockResolvedValue([
    { text: 'GEMINI_API_KEY is set.', models: ['gemini/gemini-2.5-pro'], api_base: '' },
    { text: 'Ollama answers on this machine.', models: ['ollama_chat/qwen3', 'ollama_chat/<b>'], api_base: '' },
    { text: 'LM Studio answers at its address.', models: ['openai/gemma'], api_base: STUDIO }
  ]);
  root = createRoot(node);
  draw = isLoaded =>
    act(async () => root.render(<FirstRun start={{ answers, ask, begin, check, ready, save }} isLoaded={isLoaded} />));
  await draw(false);
});

const fields = (): HTMLInputElement[] => [...node.querySelectorAll<HTMLInputElement>('input:not([type=checkbox])')];
const texts = (): string[] => fields().map(field => field.value);
const box = (): HTMLInputElement => node.querySelector<HTMLInputElement>('[type=checkbox]')!;

async function type(at: number, text: string): Promise<void> {
  const field = fields()[at];
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!.set!.call(field, text);
  await act(async () => void field.dispatchEvent(new Event('input', { bubbles: true })));
}

async function submit(): Promise<void> {
  await act(async () => node.querySelector('form')!.requestSubmit());
}

it('begins with what is set, and says what the kernel found, as text', async () => {
  check.mockResolvedValue(FOUND);
  expect(texts()).toEqual(['openai/gpt', 'MY_KEY', '', '', '']);
  await submit();
  expect(save).toHaveBeenCalledWith(SET);
  expect(said()).toContain(SAVED);
  const names = (list: Element): (string | null)[] => [...list.querySelectorAll('dt')].map(name => name.textContent);
  const [used, all] = node.querySelectorAll('dl');
  expect(names(used)).toEqual(['sandbox', 'model', 'key']);
  expect([...used.querySelectorAll('dd')].map(state => state.className)).toEqual(['', '', 'jp-mod-bad']);
  expect(used.querySelectorAll('dd')[2].textContent).toBe('<b>MY_KEY</b> is not setreplays work without it');
  expect(names(all)).toEqual(['sandbox', 'local', 'model', 'key', 'python']);
  expect(all.closest('details')!.open).toBe(false);
});

it('shows the address of an own server where one is set, and says that it saved it', async () => {
  const more = (): HTMLDetailsElement => node.querySelector('details')!;
  expect(more().open).toBe(false);
  stored = { address: 'http://localhost:8000/v1' };
  check.mockResolvedValue(FOUND);
  await act(async () => root.render(null));
  await draw(false);
  stored = {};
  expect(more().open).toBe(true);
  expect(more().querySelector('input')!.value).toBe('http://localhost:8000/v1');
  await submit();
  expect(save.mock.calls[0][0].address).toBe('http://localhost:8000/v1');
  expect(said()).toContain('openai/gpt, the name MY_KEY and the address http://localhost:8000/v1.');
});

it('keeps what was typed before the settings are there', async () => {
  let arrive: (saved: IAnswers) => void;
  const late = (): Promise<IAnswers> => new Promise(resolve => (arrive = resolve));
  await act(async () => root.render(null));
  await act(async () =>
    root.render(<FirstRun start={{ answers: late, ask, begin, check, ready, save }} isLoaded={false} />)
  );
  await type(0, 'ollama/mine');
  await act(async () => arrive(SET));
  expect(texts()[0]).toBe('ollama/mine');
});

it('takes that no key is needed, and prices, and says that it saved them', async () => {
  check.mockResolvedValue(FOUND);
  await act(async () => box().click());
  expect(fields()[1].disabled).toBe(true);
  await type(3, '0');
  await type(4, '0.15');
  await submit();
  expect(save).toHaveBeenCalledWith({ ...SET, noKey: true, prices: ['0', '0.15'] });
  expect(said()).toContain(
    'openai/gpt, that no key is needed and a price of $0 for input and $0.15 for output (a million tokens).'
  );
});

it('stays open where somebody empties a field to type another value', async () => {
  const [own, price] = [...node.querySelectorAll('details')];
  for (const [at, further] of [
    [2, own],
    [3, price]
  ] as const) {
    await type(at, 'x');
    await type(at, '');
    expect(further.open).toBe(true);
  }
});

it('fills in the address of a server on this machine with its model, and removes it with another model', async () => {
  await type(0, 'openai/gemma');
  expect(texts()).toEqual(['openai/gemma', '', STUDIO, '0', '0']);
  expect(box().checked).toBe(true);
  await type(0, 'openai/gpt');
  expect(texts()).toEqual(['openai/gpt', 'MY_KEY', '', '', '']);
  expect(box().checked).toBe(false);
  await type(2, 'http://10.0.0.1/v1');
  await type(0, 'openai/other');
  expect(texts()[2]).toBe('http://10.0.0.1/v1');
});

it('says why it could not look, and can be asked again', async () => {
  check.mockRejectedValue(new Error('The notebook has no kernel.'));
  await submit();
  expect(said()).toBe(`${SAVED}The notebook has no kernel.`);
  await submit();
  expect(check).toHaveBeenCalledTimes(2);
});

it('does not say that it saved what could not be saved', async () => {
  save.mockRejectedValue(new Error('The server is gone.'));
  await submit();
  expect(said()).toBe('The server is gone.');
  expect(check).not.toHaveBeenCalled();
});

const offered = (): string[] => [...node.querySelectorAll('option')].map(option => option.value);

it('suggests the models that can be asked now first, each once, and says why', async () => {
  expect(offered().slice(0, 3)).toEqual(['gemini/gemini-2.5-pro', 'ollama_chat/qwen3', 'ollama_chat/<b>']);
  expect(offered()).toContain('anthropic/claude-sonnet-4-5');
  expect(new Set(offered()).size).toBe(offered().length);
  expect(node.textContent).toContain('GEMINI_API_KEY is set. Ollama answers on this machine. LM Studio answers');
});

it('asks again when the field is used, as a server may have started', async () => {
  ready.mockResolvedValue([{ text: 'Ollama answers on this machine.', models: ['ollama_chat/qwen3'], api_base: '' }]);
  await act(async () => node.querySelector('input')!.focus());
  expect(offered()[0]).toBe('ollama_chat/qwen3');
});

it('asks again when the extension is loaded, and keeps the usual suggestions without an answer', async () => {
  ready.mockRejectedValue(new Error("There is no action 'ready'."));
  await draw(true);
  expect(ready).toHaveBeenCalledTimes(2);
  expect(offered()[0]).toBe('anthropic/claude-sonnet-4-5');
  expect(node.textContent).not.toContain('GEMINI_API_KEY is set');
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
