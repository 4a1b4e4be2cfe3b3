import { CodeCell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import { OutputArea } from '@jupyterlab/outputarea';

import { withWords } from './option';

/** Insert a cell with code below the cell at `index`, and activate it. */
export function insertBelow(panel: NotebookPanel, index: number, source: string): void {
  const { content: notebook, model } = panel;
  if (model === null || model.readOnly) {
    return;
  }
  model.sharedModel.insertCell(index + 1, { cell_type: 'code', source, metadata: { trusted: true } });
  notebook.deselectAll();
  notebook.activeCellIndex = index + 1;
  notebook.mode = 'command';
  show(panel, index + 1);
}

/** Whether no cell of a notebook has a text. */
export function isEmpty(panel: NotebookPanel): boolean {
  return [...(panel.model?.cells ?? [])].every(({ sharedModel }) => sharedModel.getSource().trim() === '');
}

/** Write code into the active cell if that is empty, and otherwise into a new one below it, which is activated. */
export function writeBelow(panel: NotebookPanel, source: string): void {
  const { activeCell, activeCellIndex } = panel.content;
  const model = activeCell?.model;
  if (model?.type === 'code' && model.sharedModel.getSource().trim() === '' && !panel.model?.readOnly) {
    model.sharedModel.setSource(source);
  } else {
    insertBelow(panel, activeCellIndex, source);
  }
}

/** Insert a cell with code below the cell at `index`, and run it. Its output will be in view. */
export function runBelow(panel: NotebookPanel, index: number, source: string): void {
  insertBelow(panel, index, source);
  void NotebookActions.run(panel.content, panel.sessionContext);
  show(panel, index + 1, 'start');
}

/** Insert a cell with code below the cell at `index`, unless it is there already, and activate it. */
export function haveBelow(panel: NotebookPanel, index: number, source: string): void {
  const next = panel.content.widgets[index + 1];
  if (next?.model.type === 'code' && next.model.sharedModel.getSource().trim() === source.trim()) {
    reveal(panel, next.model.id);
  } else {
    insertBelow(panel, index, source);
  }
}

/** Run a `%%autocode` cell again with further options, such as `--refine`. */
export function runCellWith(panel: NotebookPanel, index: number, options: string): void {
  const { content: notebook } = panel;
  const model = notebook.widgets[index]?.model.sharedModel;
  if (model === undefined || panel.model?.readOnly) {
    return;
  }
  model.setSource(withWords(model.getSource(), options));
  notebook.deselectAll();
  notebook.activeCellIndex = index;
  void NotebookActions.run(notebook, panel.sessionContext);
  show(panel, index, 'start');
}

/** Insert a cell with code at the end. */
export function insertAtEnd(panel: NotebookPanel, source: string): void {
  insertBelow(panel, panel.content.widgets.length - 1, source);
}

/** Activate a cell, scroll to it and focus it; false if there is no cell with this id. */
export function reveal(panel: NotebookPanel, cellId: string): boolean {
  const index = indexOf(panel, cellId);
  if (index === -1) {
    return false;
  }
  const { content: notebook } = panel;
  notebook.deselectAll();
  notebook.activeCellIndex = index;
  notebook.mode = 'command';
  show(panel, index);
  notebook.activate();
  return true;
}

/** Run code with the output in an existing cell; in a new cell at the end if that cell does not exist. */
export async function executeInCell(panel: NotebookPanel, cellId: string | null, code: string): Promise<void> {
  if (indexOf(panel, cellId) === -1) {
    insertAtEnd(panel, code);
  }
  const cell = panel.content.widgets[indexOf(panel, cellId)] ?? panel.content.activeCell;
  if (cell instanceof CodeCell) {
    await OutputArea.execute(code, cell.outputArea, panel.sessionContext, { cellId: cell.model.id });
  }
}

/** The index of a cell; -1 if it does not exist. */
export function indexOf(panel: NotebookPanel, cellId: string | null): number {
  return panel.content.widgets.findIndex(cell => cell.model.id === cellId);
}

function show({ content: notebook }: NotebookPanel, index: number, align: 'auto' | 'start' = 'auto'): void {
  const cell = notebook.widgets[index];
  if (cell !== undefined) {
    void notebook.scrollToCell(cell, align).catch(() => undefined); // the cell was deleted in the meantime
  }
}
