import * as React from 'react';
import { act } from 'react';
import type { Root } from 'react-dom/client';
import { createRoot } from 'react-dom/client';

import type { ICheckedPart } from '../../link/tokens';
import { NONE_READY } from '../../link/tokens';
import { FirstRun } from '../firstRun';
import type { IAnswers } from '../start';

const check = jest.fn();
const ready = jest.fn();
const save = jest.fn();
const test = jest.fn();
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

const ANSWERS = '✓ openai/gpt answers (1.2 s)';
const SAVED =
  "Saved in JupyterLab's settings: openai/gpt and the name MY_KEY. Nothing is written into the notebook, and no key.";

const said = (): string | null => node.querySelector('[role=status]')!.textContent;

beforeEach(async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  jest.resetAllMocks();
  stored = {};
  node = document.createElement('div');
  document.body.replaceChildren(node);
  const answers = async (): Promise<IAnswers> => ({ ...SET, ...stored });
  ready.mockResolvedValue({
    keyring: '',
    model: 'openai/set',
    api_base: '',
    offers: [
      { text: 'GEMINI_API_KEY is set.', models: ['gemini/gemini-2.5-pro'], api_base: '' },
      { text: 'Ollama answers on this machine.', models: ['ollama_chat/qwen3', 'ollama_chat/<b>'], api_base: '' },
      { text: 'LM Studio answers at its address.', models: ['openai/gemma'], api_base: STUDIO }
    ]
  });
  root = createRoot(node);
  draw = isLoaded =>
    act(async () => root.render(<FirstRun start={{ answers, begin, check, ready, save, test }} isLoaded={isLoaded} />));
  await draw(false);
});

const fields = (): HTMLInputElement[] => [
  ...node.querySelectorAll<HTMLInputElement>('input:not([type=checkbox]):not([type=password])')
];
const keyField = (): HTMLInputElement | null => node.querySelector('[type=password]');
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

it('begins with what is set, says that the model answers, and what the kernel found where it is opened', async () => {
  check.mockResolvedValue(FOUND);
  test.mockResolvedValue(ANSWERS);
  expect(texts()).toEqual(['openai/gpt', 'MY_KEY', '', '', '']);
  await submit();
  expect(save).toHaveBeenCalledWith(SET);
  expect(said()).toBe(`${ANSWERS}${SAVED}`);
  expect(check).not.toHaveBeenCalled();
  const found = [...node.querySelectorAll('details')].at(-1)!;
  await act(async () => void found.dispatchEvent(new Event('toggle')));
  const names = (list: Element): (string | null)[] => [...list.querySelectorAll('dt')].map(name => name.textContent);
  const all = node.querySelector('dl')!;
  expect([...all.querySelectorAll('dd')].map(state => state.className)).toEqual(['', '', '', 'jp-mod-bad', '']);
  expect(all.querySelectorAll('dd')[3].textContent).toBe('<b>MY_KEY</b> is not setreplays work without it');
  expect(names(all)).toEqual(['sandbox', 'local', 'model', 'key', 'python']);
});

it('gives the key to the kernel only, shows it nowhere, and empties its field', async () => {
  test.mockRejectedValueOnce(new Error('It is refused.'));
  test.mockResolvedValue(ANSWERS);
  keyField()!.value = ' sk-mine ';
  await submit();
  expect(said()).toContain('It is refused.');
  expect(keyField()!.value).toBe(' sk-mine ');
  await submit();
  expect(test.mock.calls).toEqual([
    [SET, 'sk-mine', false],
    [SET, 'sk-mine', false]
  ]);
  expect(JSON.stringify(save.mock.calls)).not.toContain('sk-mine');
  expect(node.outerHTML).not.toContain('sk-mine');
  expect(keyField()!.value).toBe('');
});

it('begins with the model that the kernel uses where none is saved', async () => {
  stored = { model: '', key: '' };
  await act(async () => root.render(null));
  await draw(false);
  expect(texts()[0]).toBe('openai/set');
  await type(0, '');
  await act(async () => node.querySelector('input')!.focus());
  expect(texts()[0]).toBe('');
});

it('offers the keyring of the system where there is one', async () => {
  test.mockResolvedValue(ANSWERS);
  ready.mockResolvedValue({ ...NONE_READY, keyring: 'the macOS keychain' });
  await draw(true);
  const choice = [...node.querySelectorAll('label')].find(label => label.textContent?.includes('keychain'))!;
  expect(choice.textContent).toBe('Keep it in the macOS keychain too');
  await act(async () => choice.querySelector('input')!.click());
  await submit();
  expect(test).toHaveBeenCalledWith(SET, '', true);
});

it('on a card, runs the cell with the model that answers', async () => {
  test.mockResolvedValue(ANSWERS);
  const run = jest.fn();
  const answers = async (): Promise<IAnswers> => SET;
  const start = { answers, begin, check, ready, save, test };
  await act(async () => root.render(<FirstRun start={start} isLoaded={true} title="Which model?" run={run} />));
  expect(node.querySelector('form')!.getAttribute('aria-label')).toBe('Which model?');
  expect([...node.querySelectorAll('button')].map(button => button.textContent)).not.toContain('Run the cell');
  await act(async () => pressed('gemini/gemini-2.5-pro'));
  expect(texts()[0]).toBe('gemini/gemini-2.5-pro');
  await submit();
  await act(async () => pressed('Run the cell'));
  expect(run).toHaveBeenCalledWith('gemini/gemini-2.5-pro');
});

it('shows the address of an own server where one is set, and says that it saved it', async () => {
  const more = (): HTMLDetailsElement => node.querySelector('details')!;
  expect(more().open).toBe(true);
  stored = { key: '' };
  await act(async () => root.render(null));
  await draw(false);
  expect(more().open).toBe(false);
  stored = { address: 'http://localhost:8000/v1' };
  test.mockResolvedValue(ANSWERS);
  await act(async () => root.render(null));
  await draw(false);
  stored = {};
  expect(more().open).toBe(true);
  expect(texts()[2]).toBe('http://localhost:8000/v1');
  await submit();
  expect(save.mock.calls[0][0].address).toBe('http://localhost:8000/v1');
  expect(said()).toContain('openai/gpt, the name MY_KEY and the address http://localhost:8000/v1.');
});

it('keeps what was typed before the settings are there', async () => {
  let arrive: (saved: IAnswers) => void;
  const late = (): Promise<IAnswers> => new Promise(resolve => (arrive = resolve));
  await act(async () => root.render(null));
  await act(async () =>
    root.render(<FirstRun start={{ answers: late, begin, check, ready, save, test }} isLoaded={false} />)
  );
  await type(0, 'ollama/mine');
  await act(async () => arrive(SET));
  expect(texts()[0]).toBe('ollama/mine');
});

it('takes that no key is needed, and prices, and says that it saved them', async () => {
  test.mockResolvedValue(ANSWERS);
  await act(async () => box().click());
  expect(keyField()).toBeNull();
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
  test.mockRejectedValue(new Error('The notebook has no kernel.'));
  await submit();
  expect(said()).toBe(`The notebook has no kernel.${SAVED}`);
  await submit();
  expect(test).toHaveBeenCalledTimes(2);
});

it('does not say that it saved what could not be saved', async () => {
  save.mockRejectedValue(new Error('The server is gone.'));
  await submit();
  expect(said()).toBe('The server is gone.');
  expect(test).not.toHaveBeenCalled();
});

const offered = (): string[] => [...node.querySelectorAll('option')].map(option => option.value);

it('suggests the models that can be asked now first, each once, and says why', async () => {
  expect(offered().slice(0, 3)).toEqual(['gemini/gemini-2.5-pro', 'ollama_chat/qwen3', 'ollama_chat/<b>']);
  expect(offered()).toContain('anthropic/claude-sonnet-4-5');
  expect(new Set(offered()).size).toBe(offered().length);
  expect([...node.querySelectorAll('li')].map(item => item.textContent)).toEqual([
    'gemini/gemini-2.5-proGEMINI_API_KEY is set.',
    'ollama_chat/qwen3Ollama answers on this machine.',
    'openai/gemmaLM Studio answers at its address.'
  ]);
});

it('asks again when the field is used, as a server may have started', async () => {
  const text = 'Ollama answers on this machine.';
  ready.mockResolvedValue({ ...NONE_READY, offers: [{ text, models: ['ollama_chat/qwen3'], api_base: '' }] });
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
  test.mockReturnValue(new Promise(() => undefined));
  const button = node.querySelector<HTMLButtonElement>('[type=submit]')!;
  button.focus();
  await submit();
  await submit();
  expect(test).toHaveBeenCalledTimes(1);
  expect(button.disabled).toBe(false);
  expect(button.getAttribute('aria-disabled')).toBe('true');
});

function pressed(words: string): void {
  [...node.querySelectorAll('button')].find(button => button.textContent === words)!.click();
}

it('puts a first cell in', () => {
  pressed('Insert a first cell');
  expect(begin).toHaveBeenCalled();
});
