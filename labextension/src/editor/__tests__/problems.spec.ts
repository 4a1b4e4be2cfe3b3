import type { IVariable } from '../../link/tokens';
import { VOCABULARY } from '../../vocabulary';
import { parseCell } from '../cell';
import type { IProblem } from '../problems';
import { findProblems } from '../problems';
import { OURS } from './cases';

const SALES: IVariable = { name: 'sales', type: 'DataFrame', rows: 2000, columns: [], column_count: 3 };

function problems(text: string, variables: IVariable[] | null = null): IProblem[] {
  const cell = parseCell(text, VOCABULARY);
  return cell === null ? [] : findProblems(cell, text, VOCABULARY, variables);
}

it.each(OURS)('says first what the kernel would say first: $case', ({ cell, problem }) => {
  const [first] = problems(cell);
  expect(first === undefined ? null : { what: first.what, hint: first.hint }).toEqual(problem);
});

it('underlines the option, the value or the type, not the whole line', () => {
  const text = '%%autocode f --modle x --sandbox dockr -o "monthly: DataFrme"\nDo it.';
  expect(problems(text).map(({ from, to }) => text.slice(from, to))).toEqual(['--modle', 'dockr', 'DataFrme']);
});

it('offers the text that would mend it', () => {
  const text = '%%autocode sum --modle x --sandbox dockr -o "monthly: DataFrme"\nRows of @saless.';
  const offers = problems(text, [SALES]).map(({ instead }) => instead);
  expect(offers).toEqual(['--model', 'docker', 'sum_', 'DataFrame', '@sales']);
});

it('finds no data wrong before the kernel has said what it holds', () => {
  expect(problems('%%autocode f\nRows of @nothing.', null)).toEqual([]);
});

it('warns of data that the notebook does not have, at every mention', () => {
  const text = '%%autocode f -s other=orders\nRows of @saless, @sales and @saless.';
  const found = problems(text, [SALES]);
  expect(found.map(({ severity }) => severity)).toEqual(['warning', 'warning', 'warning']);
  expect(found.map(({ from, to }) => text.slice(from, to))).toEqual(['@saless', '@saless', 'other=orders']);
  expect(found[0].hint).toBe('Did you mean @sales? An at sign that refers to nothing is written @@saless.');
});

it('knows names that the cell itself brings', () => {
  const text = '%%autocode f -i "min_orders: int = 5" -s logs=File("a.csv")\nUse @min_orders and @logs.';
  expect(problems(text, [])).toEqual([]);
});

it('is mild about what is still missing while a cell is begun', () => {
  expect(problems('%%autocode').map(({ severity }) => severity)).toEqual(['info', 'info']);
});
