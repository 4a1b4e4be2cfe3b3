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
  document.body.replaceChildren(node);
  const always = { since: 0, isOpen: true, isLoaded: true, execute, start: null, versionManager, picture };
  const props = { entries, showsStart: false, ...always, ...given };
  act(() => createRoot(node).render(<ResultList {...props} />));
  return node;
}

/** The same with everything about the first entry. */
function unfolded(entries: IEntry[]): HTMLElement {
  const node = shown(entries);
  act(() => node.querySelector<HTMLElement>('.jp-AutocodePanel-name')!.click());
  return node;
}

function labels(node: HTMLElement): string[] {
  const buttons = [...node.querySelectorAll('button:not(.jp-AutocodePanel-name)')];
  return buttons.map(button => button.getAttribute('aria-label') ?? button.textContent!);
}

const names = (node: HTMLElement): string[] =>
  [...node.querySelectorAll('.jp-AutocodePanel-name')].map(name => name.textContent!);

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
  const ready = unfolded([{ name: 'f', cellId: 'a', job: job({ phase: 'ready', actions: ['inspect'] }) }]);
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
  const rows = { Verified: [nasty], Warnings: [nasty], Reason: [nasty], Call: [nasty], Note: [`${nasty}!`] };
  const entries = [
    { name: 'f', cellId: 'a', job: job({ phase: 'failed', title: 'Failed', rows, facts: ['3 tests'] }) }
  ];
  const { textContent, firstElementChild: list } = shown(entries);
  expect(textContent).toBe('fFailed');
  const hover = list!.querySelector<HTMLElement>('.jp-AutocodePanel-head')!.title;
  expect(hover.split('\n')).toEqual(['f: Failed', nasty, nasty, nasty, '3 tests', `${nasty}!`, nasty]);
  const node = unfolded(entries);
  expect(node.querySelector('img')).toBeNull();
  expect(node.textContent!.split(nasty)).toHaveLength(6);
  expect(node.querySelector<HTMLElement>('.jp-AutocodePanel-head')!.title).toBe(''); // it would be said twice
});

const STANDINGS = [
  { phase: 'ready', tone: 'good', title: 'Ready' },
  { phase: 'ready', tone: 'warn', title: 'Ready, with a question for you' },
  { phase: 'failed', tone: 'bad', title: 'Failed' }
] as const;
const SIXTY = Array.from({ length: 60 }, (_, at): IEntry => {
  return { name: `f${at}`, cellId: `${at}`, job: at === 59 ? null : job(STANDINGS[at % 3]) };
});

it('filters many by name and state, and counts the states', () => {
  const node = shown(SIXTY);
  const counts = [...node.querySelectorAll<HTMLElement>('[role=group] button')];
  expect(counts.map(button => [button.textContent, button.title])).toEqual([
    ['20', '20 with a question for you'],
    ['20', '20 ready'],
    ['19', '19 failed'],
    ['1', '1 not run in this kernel']
  ]);
  const said = (): string => node.querySelector('[role=status]')!.textContent!;
  expect([names(node).length, said()]).toEqual([60, '']);
  act(() => counts[2].click());
  expect([names(node).length, names(node)[0], said()]).toEqual([19, 'f2', '19 of 60 results']);
  expect(counts.map(button => button.ariaPressed ?? button.getAttribute('aria-pressed'))).toContain('true');
  const field = node.querySelector('input')!;
  const type = (text: string): void =>
    act(() => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!.set!.call(field, text);
      field.dispatchEvent(new Event('input', { bubbles: true }));
    });
  type(' F5 ');
  expect(names(node)).toEqual(['f5', 'f50', 'f53', 'f56']);
  act(() => counts[2].click());
  type('question');
  expect(names(node)).toHaveLength(20);
  type('nothing like it');
  expect([names(node).length, said()]).toEqual([0, '0 of 60 results']);
});

it('has no filter for a few', () => {
  expect(shown(SIXTY.slice(0, 5)).querySelector('[role=search]')).toBeNull();
});

it('is one stop of the Tab key, and arrow keys lead from one result to another', () => {
  const node = shown(SIXTY);
  const stops = (): string[] =>
    [...node.querySelectorAll<HTMLElement>('.jp-AutocodePanel-name')]
      .filter(name => name.tabIndex === 0)
      .map(name => name.textContent!);
  const press = (key: string): string => {
    act(() => void document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })));
    return document.activeElement!.textContent!;
  };
  expect(stops()).toEqual(['f0']);
  act(() => node.querySelector<HTMLElement>('.jp-AutocodePanel-name')!.focus());
  expect(['ArrowDown', 'ArrowDown', 'ArrowUp', 'End', 'ArrowDown', 'Home', 'ArrowUp', 'x'].map(press)).toEqual([
    'f1',
    'f2',
    'f1',
    'f59',
    'f59',
    'f0',
    'f0',
    'f0'
  ]);
  press('End');
  expect(stops()).toEqual(['f59']);
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
  const node = unfolded([{ name: 'growth', cellId: 'a', job: job({ phase: 'ready', title: 'Ready' }) }]);
  await act(async () => undefined);
  const image = node.querySelector('img');
  expect(image?.getAttribute('src')).toBe(src);
  expect(image?.alt).toBe(src && 'chart: bar chart');
});

it('asks for no picture of a running result, nor of one that is not unfolded', () => {
  picture.mockClear();
  unfolded([{ name: 'growth', cellId: 'a', job: job({ phase: 'running' }) }]);
  shown([{ name: 'growth', cellId: 'a', job: job({ phase: 'ready' }) }]);
  expect(picture).not.toHaveBeenCalled();
});
