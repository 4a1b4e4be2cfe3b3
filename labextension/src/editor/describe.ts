import type { IColumn, IVariable } from '../link/tokens';
import type { IOption } from '../vocabulary';
import { counted } from './amounts';

/** A description: a title, one line, and rows with two cells. */
export interface IDescription {
  title: string;
  line: string;
  rows: IColumn[];
  /** The number of further rows. */
  more: number;
}

const MOST_COLUMNS = 15;

/** Describes a variable: its type, its shape and its columns. */
export function describeVariable(variable: IVariable): IDescription {
  const columns = variable.columns ?? [];
  const width = variable.column_count ?? columns.length;
  const shape = [
    ...(variable.rows === undefined ? [] : [counted(variable.rows, 'row')]),
    ...(width > 0 && variable.type !== 'Series' ? [counted(width, 'column')] : [])
  ].join(' × ');
  const shown = columns.slice(0, MOST_COLUMNS);
  const line = [variable.type, shape, variable.path ?? ''].filter(part => part !== '').join(' · ');
  return { title: variable.name, line, rows: shown, more: width - shown.length };
}

/** Describes an option: its flags, its help and its values. */
export function describeOption(option: IOption): IDescription {
  const title = `${option.flags.join(', ')} ${option.placeholder || option.choices.join('|')}`.trim();
  const notes = [option.help, ...(option.repeatable ? ['can be given several times'] : [])];
  return { title, line: notes.join('; '), rows: [], more: 0 };
}

/** A description as plain text. */
export function asText({ title, line, rows, more }: IDescription): string {
  const table = rows.map(({ name, dtype }) => `${name}: ${dtype}`);
  return [title, line, ...table, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}
