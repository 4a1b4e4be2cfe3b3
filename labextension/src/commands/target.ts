import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { nameIn } from '../cells/names';
import type { IEntry } from '../results/entries';
import type { IResults } from '../results/tokens';

/** What our commands take. */
export interface IArgs extends ReadonlyPartialJSONObject {
  /** Of a result; by default that of the active cell, or the only one that the command fits. */
  name?: string;
  /** Whether it is about the active cell only: in its toolbar and its menu. */
  cell?: boolean;
}

/** The same for whoever calls by hand. */
export const ARGS_SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Name of the result; by default that of the active %%autocode cell.' },
    cell: { type: 'boolean', description: 'Whether it is about the active cell only.' }
  }
} as const;

/** A result in its notebook. */
export interface ITarget {
  notebook: NotebookPanel;
  entry: IEntry;
}

/** The entry that a command is about; `null` when there is none that fits. */
export function chosen(
  entries: readonly IEntry[],
  active: string | null,
  args: IArgs,
  fits: (entry: IEntry) => boolean
): IEntry | null {
  const name = args.name ?? active;
  if (name !== null) {
    const named = entries.find(entry => entry.name === name);
    if (named !== undefined && fits(named)) {
      return named;
    }
  }
  if (args.name !== undefined || args.cell) {
    return null;
  }
  const fitting = entries.filter(fits);
  return fitting.length === 1 ? fitting[0] : null;
}

/** The name in the active cell of the current notebook. */
export function activeName({ notebook }: IResults): string | null {
  const cell = notebook?.isDisposed === false ? notebook.content.activeCell : null;
  return cell?.model?.type === 'code' ? nameIn(cell.model.sharedModel.getSource()) : null;
}
