import type { NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';

import type { IKernelLink, IVariable } from '../link/tokens';
import { namedCells } from './names';
import { insertBelow } from './place';
import { templateOf } from './template';

/** Loads the extension into a kernel. */
export const LOAD = '%load_ext autocoder_jupyter';

/** Time limit for what a kernel says of itself, in milliseconds. */
const PATIENCE = 3000;

/** Insert a new `%%autocode` cell below the active one, and load the extension first if necessary. */
export async function newCell(panel: NotebookPanel, link: IKernelLink | null): Promise<void> {
  const { content: notebook } = panel;
  await known(link); // the extension may have been loaded a moment ago
  if (!link?.connected) {
    insertBelow(panel, notebook.activeCellIndex, LOAD);
    await NotebookActions.run(notebook, panel.sessionContext);
    await known(link);
  }
  const names = namedCells(panel).map(({ name }) => name);
  const source = templateOf(names, link?.variables ?? ([] as readonly IVariable[]));
  insertBelow(panel, notebook.activeCellIndex, source);
  const cell = notebook.activeCell;
  await cell?.ready; // the editor of a cell is made when it is drawn
  if (cell?.editor && notebook.activeCell === cell) {
    notebook.mode = 'edit';
    const end = source.split('\n');
    cell.editor.setSelection({
      start: { line: 1, column: 0 },
      end: { line: end.length - 1, column: end[end.length - 1].length }
    });
    cell.editor.focus(); // at once, so that what is typed next is written there
  }
}

/** Resolves when the data of the kernel are known, or that it does not have the extension; or after a time. */
async function known(link: IKernelLink | null): Promise<void> {
  const isKnown = (): boolean => link === null || link.absent || (link.connected && link.variables !== null);
  if (isKnown()) {
    return;
  }
  await new Promise<void>(resolve => {
    const look = (): void => {
      if (isKnown()) {
        end();
      }
    };
    const end = (): void => {
      clearTimeout(timer);
      link?.changed.disconnect(look);
      resolve();
    };
    const timer = setTimeout(end, PATIENCE);
    link?.changed.connect(look);
  });
}
