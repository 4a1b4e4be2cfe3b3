import type { NotebookPanel } from '@jupyterlab/notebook';

import { parseCell } from '../editor/cell';
import { VOCABULARY } from '../vocabulary';

/** A Python identifier, keywords included. */
const IDENTIFIER = /^[\p{XID_Start}_]\p{XID_Continue}*$/u;

/** A `%%autocode` cell. */
export interface INamedCell {
  id: string;
  name: string;
}

/** The name of the result of a cell; `null` if it is not a `%%autocode` cell, or its name is not an identifier. */
export function nameIn(source: string): string | null {
  const name = parseCell(source, VOCABULARY)?.positional[0]?.text ?? '';
  return IDENTIFIER.test(name) ? name : null;
}

/** The named `%%autocode` cells of a notebook, from top to bottom. */
export function namedCells(panel: NotebookPanel): INamedCell[] {
  const cells: INamedCell[] = [];
  for (const { id, type, sharedModel } of panel.model?.cells ?? []) {
    const name = type === 'code' ? nameIn(sharedModel.getSource()) : null;
    if (name !== null) {
      cells.push({ id, name });
    }
  }
  return cells;
}
