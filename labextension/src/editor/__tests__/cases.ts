import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ICellProblem, IVariable } from '../../link/tokens';

/** A cell and how it is to be read; the Python tests read the same table. */
export interface ICase {
  case: string;
  cell: string;
  ours: boolean;
  name?: string;
  words?: string[];
  given?: { [option: string]: string[] };
  request?: string;
  references?: string[];
  /** What the kernel says is wrong; `null` when nothing is. */
  problem?: object | null;
}

/** What a kernel tells of a notebook; the Python tests ask one. */
interface ITold {
  variables: IVariable[];
  cells: { case: string; cell: string; problems: ICellProblem[] }[];
}

function table<T>(name: string): T {
  return JSON.parse(readFileSync(join(__dirname, '../../../../tests/labextension', name), 'utf-8')) as T;
}

export const CASES = table<ICase[]>('cases.json');
export const OURS = CASES.filter(({ ours }) => ours);
export const TOLD = table<ITold>('told.json');
