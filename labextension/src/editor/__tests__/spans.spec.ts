import type { IVariable } from '../../link/tokens';
import { VOCABULARY } from '../../vocabulary';
import type { ICell } from '../cell';
import { parseCell } from '../cell';
import { partsOf } from '../spans';

const TEXT = '%%autocode f --wait --modle -o "a: int" -i "n: int"\nRows of @sales above @n, not @other.';

function parts(text: string, variables: IVariable[] | null): string[] {
  const cell = parseCell(text, VOCABULARY) as ICell;
  return partsOf(cell, variables).map(({ part, from, to }) => `${part} ${text.slice(from, to)}`);
}

it('tells the parts of a cell apart', () => {
  expect(parts(TEXT, null)).toEqual([
    'command %%autocode',
    'name f',
    'option --wait',
    'wrong --modle',
    'option -o',
    'value "a: int"',
    'type int',
    'option -i',
    'value "n: int"',
    'type int',
    'reference @sales',
    'reference @n',
    'reference @other'
  ]);
});

it('tells known data from unknown as soon as it can', () => {
  const known = parts(TEXT, [{ name: 'sales', type: 'DataFrame' }]);
  expect(known.slice(-3)).toEqual(['known @sales', 'known @n', 'unknown @other']);
});

it('shows the beginning of a value as one before its quote is closed', () => {
  expect(parts('%%autocode f -o "a: i', null).slice(-2)).toEqual(['option -o', 'value "a: i']);
});
