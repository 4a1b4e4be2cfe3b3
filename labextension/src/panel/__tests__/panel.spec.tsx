import { CommandRegistry } from '@lumino/commands';
import { MessageLoop } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { act } from 'react';

import { job } from '../../link/__tests__/fakes';
import { NONE_READY } from '../../link/tokens';
import type { IEntry } from '../../results/entries';
import type { IResults } from '../../results/tokens';
import { ResultsPanel } from '../panel';
import type { Start } from '../start';
import { VersionManager } from '../versionManager';

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  globalThis.requestIdleCallback ??= callback => setTimeout(callback) as unknown as number; // jsdom has none
});

it('is drawn only while it is visible, and is up to date when it is shown', () => {
  const results = { notebook: null, link: null, entries: [] as IEntry[] };
  const changed = new Signal<IResults, void>(results as unknown as IResults);
  const shown = Object.assign(results, { changed }) as unknown as IResults;
  const panel = new ResultsPanel(shown, new CommandRegistry(), null, new VersionManager(shown));
  const drawn = jest.spyOn(panel as unknown as { render: () => unknown }, 'render');
  const change = (name: string): void =>
    act(() => {
      results.entries = [{ name, cellId: 'a', job: null }];
      changed.emit();
      MessageLoop.flush();
    });
  panel.hide();
  act(() => Widget.attach(panel, document.body));
  act(() => MessageLoop.flush());
  drawn.mockClear();
  change('growth');
  expect(drawn).not.toHaveBeenCalled();
  act(() => panel.show());
  act(() => MessageLoop.flush());
  expect(panel.node.querySelector('[data-name=growth]')).not.toBeNull();
  change('churn');
  expect(panel.node.querySelector('[data-name=churn]')).not.toBeNull();
  act(() => panel.dispose());
});

it.each([false, true])(
  'keeps the focus of a button that is removed, unless it has gone elsewhere: %s',
  async leaves => {
    const results = { notebook: null, link: null, entries: [{ name: 'growth', cellId: 'a', job: null }] as IEntry[] };
    const changed = new Signal<IResults, void>(results as unknown as IResults);
    const shown = Object.assign(results, { changed }) as unknown as IResults;
    const panel = new ResultsPanel(shown, new CommandRegistry(), null, new VersionManager(shown));
    const cell = document.createElement('input');
    document.body.append(cell);
    await act(async () => Widget.attach(panel, document.body));
    await act(async () => MessageLoop.flush());
    act(() => panel.node.querySelector('button')!.focus());
    await act(async () => {
      results.entries = [{ name: 'churn', cellId: null, job: null }];
      changed.emit();
      MessageLoop.flush();
      if (leaves) {
        cell.focus();
      }
    });
    expect(panel.node.querySelector('[data-name=churn]')).not.toBeNull();
    expect(document.activeElement).toBe(leaves ? cell : panel.node);
    act(() => panel.dispose());
  }
);

it('passes consent on, and leaves the focus with its result', async () => {
  const question = { phase: 'waiting' as const, asks: 'May it install fiscalmonths?', question: 'fiscalmonths' };
  const asking = (given: object): IEntry => ({ name: 'asking', cellId: 'b', job: job({ name: 'asking', ...given }) });
  const growth: IEntry = { name: 'growth', cellId: 'a', job: job({ phase: 'cancelled', title: 'Cancelled' }) };
  const results = {
    notebook: null,
    link: null,
    entries: [growth, asking({ title: 'Waiting for approval', ...question })]
  };
  const changed = new Signal<IResults, void>(results as unknown as IResults);
  const shown = Object.assign(results, { changed }) as unknown as IResults;
  const [commands, approved] = [new CommandRegistry(), jest.fn()];
  commands.addCommand('autocoder-jupyter:approve', { describedBy: { args: {} }, execute: approved });
  const panel = new ResultsPanel(shown, commands, null, new VersionManager(shown));
  const label = (name: string): string | null =>
    panel.node.querySelector(`[data-name=${name}]`)!.getAttribute('aria-label');
  jest.useFakeTimers({ doNotFake: ['requestIdleCallback'] });
  await act(async () => Widget.attach(panel, document.body));
  await act(async () => MessageLoop.flush());
  await act(async () => void jest.advanceTimersByTime(1000));
  expect([label('growth'), label('asking')]).toEqual(['growth: Cancelled', 'asking: Waiting for approval']);
  const approve = panel.node.querySelector<HTMLButtonElement>('.jp-mod-accept')!;
  expect([approve.textContent, approve.disabled]).toEqual(['Approve', false]);
  act(() => approve.focus());
  approve.click();
  expect(approved).toHaveBeenCalledWith({ name: 'asking' });
  await act(async () => {
    results.entries = [growth, asking({ phase: 'ready', title: 'Ready', actions: ['inspect'] })];
    changed.emit();
    MessageLoop.flush();
  });
  await act(async () => void jest.advanceTimersByTime(1000));
  expect([label('growth'), label('asking')]).toEqual(['growth: Cancelled', 'asking: Ready']);
  expect(document.activeElement!.closest<HTMLElement>('[data-name]')?.dataset.name).toBe('asking');
  act(() => panel.dispose());
  jest.useRealTimers();
});

it('has the first steps at its top whenever they are asked for', async () => {
  const entries = [{ name: 'growth', cellId: 'a', job: null }];
  const results = { notebook: { id: 'a', title: { label: 'a' }, context: { path: 'a' } }, link: null, entries };
  const shown = Object.assign(results, { changed: new Signal<object, void>({}) }) as unknown as IResults;
  const start = {
    answers: async () => Promise.reject(new Error('none')),
    ready: async () => NONE_READY
  } as unknown as Start;
  const commands = new CommandRegistry();
  const panel = new ResultsPanel(shown, commands, start, new VersionManager(shown));
  commands.addCommand('autocoder-jupyter:first-steps', {
    describedBy: { args: {} },
    execute: () => panel.showStart()
  });
  await act(async () => Widget.attach(panel, document.body));
  await act(async () => MessageLoop.flush());
  const button = panel.node.querySelector<HTMLElement>('.jp-AutocodePanel-header button')!;
  const seen = (): unknown[] => [button.getAttribute('aria-expanded'), panel.node.querySelectorAll('form').length];
  const click = async (): Promise<void> => {
    await act(async () => button.click());
    await act(async () => MessageLoop.flush());
  };
  expect(seen()).toEqual(['false', 0]);
  await click();
  expect(seen()).toEqual(['true', 1]);
  expect(panel.node.querySelector('[data-name=growth]')).not.toBeNull();
  await click();
  expect(seen()).toEqual(['false', 0]);
  act(() => panel.dispose());
});
