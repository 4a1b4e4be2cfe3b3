import type { IVariable } from '../link/tokens';

const NUMBER = new Intl.NumberFormat('en-US');

/** The size of a value: `2,000 × 3`, `2,000`, or the path of a file; empty if it is unknown. */
export function sizeOf({ rows, column_count, columns, path, type }: IVariable): string {
  if (rows === undefined) {
    return path ?? '';
  }
  const width = column_count ?? columns?.length;
  const tabular = type !== 'Series' && width !== undefined;
  return tabular ? `${NUMBER.format(rows)} × ${NUMBER.format(width)}` : NUMBER.format(rows);
}

/** A count with its noun: `1 row`, `2,000 rows`. */
export function counted(count: number, noun: string): string {
  return `${NUMBER.format(count)} ${noun}${count === 1 ? '' : 's'}`;
}
