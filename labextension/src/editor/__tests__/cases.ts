import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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

const TABLE = join(__dirname, '../../../../tests/labextension/cases.json');

export const CASES = JSON.parse(readFileSync(TABLE, 'utf-8')) as ICase[];
export const OURS = CASES.filter(({ ours }) => ours);
