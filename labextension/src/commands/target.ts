import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { nameIn } from '../cells/names';
import type { IEntry } from '../results/entries';
import type { IResults } from '../results/tokens';

/** The arguments of our commands. */
export interface IArgs extends ReadonlyPartialJSONObject {
  /** The name of a result; by default that of the active cell, or the only one for which the command is possible. */
  name?: string;
  /** Whether only the active cell is meant: in its toolbar and its menu. */
  cell?: boolean;
}

/** The arguments as a JSON schema. */
export const ARGS_SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Name of the result; by default that of the active %%autocode cell.' },
    cell: { type: 'boolean', description: 'Whether only the active cell is meant.' }
  }
} as const;

/** A result in its notebook. */
export interface ITarget {
  notebook: NotebookPanel;
  entry: IEntry;
}

/** The entry for a command; `null` if there is none. */
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
