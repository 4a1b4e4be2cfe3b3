import type { IVariable } from '../../link/tokens';
import { VOCABULARY } from '../../vocabulary';
import type { ICell } from '../cell';
import { parseCell } from '../cell';
import { UNKNOWN } from '../knowledge';
import { asText, describeOption, describeVariable } from '../describe';
import { described } from '../hover';

const WIDE: IVariable = {
  name: 'sales',
  type: 'DataFrame',
  rows: 1,
  columns: Array.from({ length: 100 }, (_, index) => ({ name: `c${index}`, dtype: 'int64' })),
  column_count: 250
};

it('shows fifteen columns and counts the others', () => {
  const { line, rows, more } = describeVariable(WIDE);
  expect(line).toBe('DataFrame · 1 row × 250 columns');
  expect(rows).toHaveLength(15);
  expect(more).toBe(235);
});

it('shows the path of a file', () => {
  expect(describeVariable({ name: 'f', type: 'File', path: 'a.csv' }).line).toBe('File · a.csv');
});

it('shows how an option is written, what it does and what it can be', () => {
  const option = VOCABULARY.options.find(({ name }) => name === 'share');
  expect(option && asText(describeOption(option))).toBe(
    '--share rows|stats|schema\nhow much of the data the model may see'
  );
});

describe('what is under the pointer', () => {
  const text = '%%autocode f --share rows -i "n: int"\nRows of @sales above @n, not @other.';
  const cell = parseCell(text, VOCABULARY) as ICell;
  const known = { ...UNKNOWN, vocabulary: VOCABULARY, variables: [WIDE, { ...WIDE, name: 'n' }] };
  const under = (word: string): string | undefined => described(cell, text.indexOf(word) + 2, known)?.title;

  it('is an option or a value of the notebook', () => {
    expect(under('--share')).toBe('--share rows|stats|schema');
    expect(under('@sales')).toBe('sales');
  });

  it('is nothing elsewhere, and nothing of the notebook when the cell declares the name itself', () => {
    expect(['rows', 'Rows', '@n', '@other'].map(under)).toEqual([undefined, undefined, undefined, undefined]);
  });
});
