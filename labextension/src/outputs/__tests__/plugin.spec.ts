import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';

import type { ILink } from '../../link/tokens';
import plugin from '..';

jest.mock('@jupyterlab/notebook', () => ({ INotebookTracker: {}, NotebookActions: { run: jest.fn() } }));
jest.mock('@jupyterlab/cells', () => ({ CodeCell: class {} }));
jest.mock('@jupyterlab/outputarea', () => ({}));

/** An open notebook whose cells are texts; the output of the first has our buttons. */
function opened(): { cells: string[]; node: HTMLElement; content: { activeCellIndex: number; mode: string } } {
  const node = document.createElement('div');
  const cells = ['%%autocode growth -o a:int\nTotal.', 'later'];
  const widgets = cells.map((_, at) => ({
    node: node.appendChild(document.createElement('div')),
    model: {
      sharedModel: { getSource: () => cells[at], setSource: (source: string) => void (cells[at] = source) }
    }
  }));
  widgets[0].node.innerHTML = `
    <div data-autocode-block>
      <button class="autocode-action" data-autocode-action="grant" aria-label="Use this reading"></button>
      <pre data-autocode-source>%%autocode growth --refine\nGrowth is year on year.</pre>
    </div>
    <button class="autocode-refine-cell" aria-label="Refine it instead"></button>`;
  const content = {
    widgets,
    activeCellIndex: 1,
    mode: 'edit',
    rendermime: { addFactory: () => undefined },
    deselectAll: () => undefined,
    scrollToCell: async () => undefined
  };
  const sharedModel = { insertCell: (at: number, { source }: { source: string }) => cells.splice(at, 0, source) };
  const panel = { node, content, model: { readOnly: false, sharedModel }, sessionContext: 'kernel' };
  const app = { commands: {}, docRegistry: { addWidgetExtension: () => undefined } };
  void plugin.activate(
    app as unknown as JupyterFrontEnd,
    { forEach: (serve: (panel: object) => void) => serve(panel) } as unknown as INotebookTracker,
    { addFactory: () => undefined } as unknown as IRenderMimeRegistry,
    {} as ILink,
    null
  );
  return { cells, node, content };
}

function click(node: HTMLElement, words: string): void {
  const button = node.querySelector<HTMLElement>(`[aria-label="${words}"]`)!;
  document.body.replaceChildren(node);
  button.click();
}

it('runs a reading of the card in a cell below that of the card', () => {
  const { cells, node, content } = opened();
  click(node, 'Use this reading');
  expect(cells[1]).toBe('%%autocode growth --refine\nGrowth is year on year.');
  expect(cells[2]).toBe('later');
  expect([content.activeCellIndex, content.mode]).toEqual([1, 'command']);
  expect(NotebookActions.run).toHaveBeenCalledWith(content, 'kernel');
});

it('runs an edited request again, from the function that is there', () => {
  const { cells, node, content } = opened();
  click(node, 'Refine it instead');
  expect(cells).toEqual(['%%autocode growth --refine -o a:int\nTotal.', 'later']);
  expect(content.activeCellIndex).toBe(0);
  expect(NotebookActions.run).toHaveBeenCalledWith(content, 'kernel');
});

it('shows the buttons of a card, unless JupyterLab has removed what they need', () => {
  const style = document.createElement('style');
  style.textContent = readFileSync(join(__dirname, '../../../style/outputs.css'), 'utf-8');
  const names = [
    'autocode-action',
    'autocode-wish',
    'autocode-option-cell',
    'autocode-refine-cell',
    'autocode-keep',
    'autocode-do',
    'autocode-reveal'
  ];
  const buttons = (more: string): string =>
    names.map(name => `<button hidden class="${name}" ${more}></button>`).join('');
  document.body.innerHTML = buttons('aria-label="Do it"') + buttons('');
  document.body.append(style);
  const shown = [...document.querySelectorAll('button')].map(button => getComputedStyle(button).display);
  expect(shown).toEqual([...names.map(() => 'inline-block'), ...names.map(() => 'none')]);
});
