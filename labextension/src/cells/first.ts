import type { NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';

import type { IKernelLink, IVariable } from '../link/tokens';
import { namedCells } from './names';
import { isEmpty, writeBelow } from './place';
import { freeName, templateOf } from './template';

/** Loads the extension into a kernel. */
export const LOAD = '%load_ext autocoder_jupyter';

/** The data for the first request of an empty notebook, and that request. */
export const SAMPLE = `import pandas as pd

sales = pd.DataFrame(
    {
        "month": ["2025-01", "2025-01", "2025-02", "2025-02", "2025-03", "2025-03"],
        "region": ["North", "South", "North", "South", "North", "South"],
        "revenue": [120.0, 80.0, 150.0, 95.0, 110.0, 130.0],
    }
)
sales`;
export const EXAMPLE = 'Total revenue of each region in @sales, the highest first.';

/** Time limit for what a kernel says of itself, in milliseconds. */
const PATIENCE = 3000;

/** The text of a new cell, for the names of functions and the data of the notebook. */
export type Write = (names: readonly string[], variables: readonly IVariable[]) => string;

/**
 * Write a new `%%autocode` cell below the active one, and load the extension first if necessary. It is not run.
 *
 * An empty notebook gets a table and a request about it; otherwise the words to replace are selected.
 *
 * @param write makes the text, if it is not a template; the cursor is then behind its second line
 */
export async function newCell(panel: NotebookPanel, link: IKernelLink | null, write?: Write): Promise<void> {
  const { content: notebook } = panel;
  const isFirst = write === undefined && isEmpty(panel);
  await known(link); // the extension may have been loaded a moment ago
  if (!link?.connected) {
    writeBelow(panel, LOAD);
    await NotebookActions.run(notebook, panel.sessionContext);
    await known(link);
  }
  const variables = link?.variables ?? [];
  const needsData = isFirst && variables.length === 0;
  if (needsData) {
    writeBelow(panel, SAMPLE);
    await NotebookActions.run(notebook, panel.sessionContext);
  }
  const names = namedCells(panel).map(({ name }) => name);
  const source = needsData
    ? `%%autocode ${freeName('totals', names, variables)}\n${EXAMPLE}`
    : (write ?? templateOf)(names, variables);
  writeBelow(panel, source);
  const cell = notebook.activeCell;
  await cell?.ready; // the editor of a cell is made when it is drawn
  if (cell?.editor && notebook.activeCell === cell) {
    notebook.mode = 'edit';
    const lines = source.split('\n');
    const end = needsData || write ? 1 : lines.length - 1;
    const column = lines[end].length;
    const start = needsData || write ? { line: end, column } : { line: 1, column: 0 };
    cell.editor.setSelection({ start, end: { line: end, column } });
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
