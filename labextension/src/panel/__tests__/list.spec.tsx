import * as React from 'react';
import { act } from 'react';
import { createRoot } from 'react-dom/client';

import { job } from '../../link/__tests__/fakes';
import type { IEntry } from '../../results/entries';
import type { VersionManager } from '../versionManager';
import { ResultList } from '../list';

const execute = jest.fn();
const versionManager = {} as VersionManager;
const picture = jest.fn(async (): Promise<string | null> => null);

function shown(entries: IEntry[], given: { isOpen?: boolean; isLoaded?: boolean } = {}): HTMLElement {
  const node = document.createElement('div');
  const always = { since: 0, isOpen: true, isLoaded: true, execute, start: null, versionManager, picture };
  const props = { entries, ...always, ...given };
  act(() => createRoot(node).render(<ResultList {...props} />));
  return node;
}

function labels(node: HTMLElement): string[] {
  return [...node.querySelectorAll('button')].map(button => button.getAttribute('aria-label') ?? button.textContent!);
}

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});

it('says what to do when there is nothing', () => {
  expect(shown([], { isOpen: false }).textContent).toContain('Open a notebook');
  expect(shown([], { isLoaded: false }).textContent).toContain('%load_ext autocoder_jupyter');
  const ready = shown([]).textContent;
  expect(ready).toContain('%%autocode growth');
  expect(ready).not.toContain('%load_ext');
});

it('is a list with a named item for each result', () => {
  const node = shown([
    { name: 'growth', cellId: 'a', job: job({ phase: 'ready', title: 'Ready' }) },
    { name: 'later', cellId: 'b', job: null }
  ]);
  const list = node.querySelector('ul[role=list]')!;
  expect(list.getAttribute('aria-label')).toBe('Results of this notebook');
  expect([...list.children].map(item => item.getAttribute('aria-label'))).toEqual([
    'growth: Ready',
    'later: Not run in this kernel'
  ]);
});

it('offers what makes sense for each', () => {
  const offered = (entry: Partial<IEntry>): string[] =>
    labels(shown([{ name: 'f', cellId: 'a', job: null, ...entry }]));
  expect(offered({})).toEqual(['Show the cell of f']);
  const running = job({ phase: 'running', actions: ['cancel', 'inspect'] });
  expect(offered({ job: running })).toEqual(['Cancel f', 'Inspect f', 'Show the cell of f']);
  const ready = job({ phase: 'ready', actions: ['call', 'inspect', 'insert-code', 'export'] });
  expect(offered({ job: ready, cellId: null })).toEqual([
    'Inspect f',
    'Insert the code of f below its cell',
    'Export f as a script'
  ]);
  expect(offered({ job: job({ phase: 'cancelled', actions: ['inspect'] }), cellId: null })).toEqual(['Inspect f']);
});

it('asks for consent, and passes the answer on', () => {
  jest.useFakeTimers();
  const entry = { name: 'f', cellId: 'a', job: job({ phase: 'waiting', asks: 'May it install fiscalmonths, other?' }) };
  const node = shown([entry]);
  expect(node.textContent).toContain('May it install fiscalmonths, other?');
  const [approve, decline] = ['Approve', 'Decline'].map(words =>
    [...node.querySelectorAll('button')].find(button => button.textContent === words)!
  );
  act(() => approve.click()); // the second click of a double click, which was meant for the question before
  expect(execute.mock.calls).toEqual([]);
  act(() => jest.advanceTimersByTime(1000));
  act(() => approve.click());
  act(() => decline.click());
  expect(execute.mock.calls).toEqual([
    ['approve', entry],
    ['decline', entry]
  ]);
  jest.useRealTimers();
});

it('asks for a call of a tool, and offers nothing of a function for an answer', () => {
  const waiting = job({ phase: 'waiting', asks: "May it call send_mail(to='a@example.org')?" });
  expect(shown([{ name: 'f', cellId: 'a', job: waiting }]).textContent).toContain(
    "May it call send_mail(to='a@example.org')?"
  );
  const ready = shown([{ name: 'f', cellId: 'a', job: job({ phase: 'ready', actions: ['inspect'] }) }]);
  expect(labels(ready)).toEqual(['Inspect f', 'Show the cell of f']);
  expect(ready.textContent).not.toContain('Versions');
});

it('shows how far it is only while it runs', () => {
  const running = shown([{ name: 'f', cellId: 'a', job: job({ progress: 0.5 }) }]);
  expect(running.querySelector('[role=progressbar]')?.getAttribute('aria-valuenow')).toBe('50');
  const ended = shown([{ name: 'f', cellId: 'a', job: job({ phase: 'ready', progress: 1 }) }]);
  expect(ended.querySelector('[role=progressbar]')).toBeNull();
});

it('shows evidence, warnings and reasons as text, never as markup', () => {
  const nasty = '<img src=x onerror=alert(1)>';
  const rows = { Verified: [nasty], Passed: [nasty], Warnings: [nasty], Reason: [nasty], Call: [nasty] };
  const node = shown([{ name: 'f', cellId: 'a', job: job({ phase: 'failed', rows }) }]);
  expect(node.querySelector('img')).toBeNull();
  expect(node.textContent!.split(nasty)).toHaveLength(6);
});

const PNG = 'data:image/png;base64,iVBORw==';
const SVG = 'data:image/svg+xml;base64,PHN2Zy8+';

it.each([
  [JSON.stringify({ src: PNG, alt: 'chart: bar chart' }), PNG],
  [JSON.stringify({ src: 'https://evil.example/x.png', alt: 'chart' }), undefined],
  [JSON.stringify({ src: SVG, alt: 'chart: bar chart' }), SVG],
  [JSON.stringify({ src: 'data:text/html;base64,iVBORw==', alt: 'chart' }), undefined],
  [JSON.stringify({ src: PNG }), undefined],
  ['no JSON', undefined],
  [null, undefined]
])('shows the picture of a finished result, given %p', async (told, src) => {
  picture.mockResolvedValueOnce(told);
  const node = shown([{ name: 'growth', cellId: 'a', job: job({ phase: 'ready', title: 'Ready' }) }]);
  await act(async () => undefined);
  const image = node.querySelector('img');
  expect(image?.getAttribute('src')).toBe(src);
  expect(image?.alt).toBe(src && 'chart: bar chart');
});

it('asks for no picture of a running result', () => {
  picture.mockClear();
  shown([{ name: 'growth', cellId: 'a', job: job({ phase: 'running' }) }]);
  expect(picture).not.toHaveBeenCalled();
});
