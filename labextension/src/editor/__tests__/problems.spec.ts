import { pythonLanguage } from '@codemirror/lang-python';

import type { IVariable } from '../../link/tokens';
import { VOCABULARY } from '../../vocabulary';
import { parseCell } from '../cell';
import type { IKnown } from '../knowledge';
import { UNKNOWN } from '../knowledge';
import type { IProblem } from '../problems';
import { findProblems } from '../problems';
import { OURS } from './cases';

const SALES: IVariable = { name: 'sales', type: 'DataFrame', rows: 2000, columns: [], column_count: 3 };

function problems(text: string, variables: IVariable[] | null = null, more: Partial<IKnown> = {}): IProblem[] {
  const cell = parseCell(text, VOCABULARY);
  const known = { ...UNKNOWN, variables, ...more };
  return cell === null ? [] : findProblems(cell, text, known, pythonLanguage.parser);
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
  const text = '%%autocode sum --moddel x --sandbox dockr -o "monthly: DataFrme"\nRows of @saless.';
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

it.each([
  ['--max-cost abc', 'abc', "--max-cost takes a number, 0 or more, not 'abc'."],
  ['--max-cost -1', '-1', "--max-cost takes a number, 0 or more, not '-1'."],
  ['--max-iterations 2.5', '2.5', "--max-iterations takes a whole number, 1 or more, not '2.5'."],
  ['--max-iterations 0', '0', "--max-iterations takes a whole number, 1 or more, not '0'."],
  ['--memory lots', 'lots', "--memory takes an amount of memory such as 512Mi or 2Gi, not 'lots'."],
  ['--timeout=soon', 'soon', "--timeout takes a number, 0.1 or more, not 'soon'."]
])('marks a value that an option cannot have: %s', (option, marked, what) => {
  const text = `%%autocode f ${option}\nDo it.`;
  const found = problems(text);
  expect(found.map(problem => [text.slice(problem.from, problem.to), problem.what])).toEqual([[marked, what]]);
});

it.each(['--max-cost 1e-2', '--max-cost .5', '--max-cost 1_0', '--memory 1.5Gi', '--memory 512', '--timeout 0.1'])(
  'takes what the kernel takes: %s',
  option => expect(problems(`%%autocode f ${option}\nDo it.`)).toEqual([])
);

it.each([
  ['--check "total >"', '>'],
  ['--check "(total"', 'l'],
  ['--check "x = 1"', '='],
  ['--check "import os"', 'i'],
  ['--check "total > 0; x"', ';']
])('marks a check that is no expression of Python: %s', (option, marked) => {
  const text = `%%autocode f ${option}\nDo it.`;
  const [found, ...more] = problems(text);
  expect(more).toEqual([]);
  expect(found.what).toMatch(/^--check .* is not a Python expression\.$/);
  expect(found.severity).toBe('error');
  expect(text.slice(found.from, found.to)).toContain(marked);
});

it.each(['total > 0', '(monthly.revenue >= 0).all()', '[x for x in a if x]', 'a, b', 'len(m) == 12 if m else True'])(
  'leaves a check alone that is one: %s',
  check => expect(problems(`%%autocode f --check "${check}"\nDo it.`)).toEqual([])
);

it('marks a name that something else of the notebook has', () => {
  const taken = problems('%%autocode limit\nDo it.', [SALES], { others: { limit: 'int' } });
  expect(taken.map(({ what, hint, severity }) => [what, hint, severity])).toEqual([
    ["'limit' is already a variable of the notebook (int).", 'Choose another name, or say --replace.', 'warning']
  ]);
  expect(problems('%%autocode sales\nDo it.', [SALES])[0].what).toContain('(DataFrame)');
  expect(problems('%%autocode limit --replace\nDo it.', [SALES], { others: { limit: 'int' } })).toEqual([]);
});

it('says of a number behind an at sign what it is, and what to do', () => {
  const [found] = problems('%%autocode f\n@sales above @limit.', [SALES], { others: { limit: 'int' } });
  expect(found.what).toBe('@limit is an int; a request can refer to a DataFrame, a Series, File(…) or Dir(…).');
  expect(found.hint).toBe('Declare it as an input, -i "limit: int = …", or write the value itself.');
  expect(problems('%%autocode f -i "limit: int = 5"\n@limit', [], { others: { limit: 'int' } })).toEqual([]);
});

it('hints at data that the prose names without an at sign, once each, and offers it', () => {
  const text = '%%autocode f\n\nGrowth of sales; sales are weekly.';
  const [found, ...more] = problems(text, [SALES]);
  expect(more).toEqual([]);
  expect([found.severity, found.instead, text.slice(found.from, found.to)]).toEqual(['info', '@sales', 'sales']);
  expect(found.what).toBe('sales is a DataFrame of the notebook, and the request does not hand it over.');
  expect(found.from).toBe(text.indexOf('sales'));
});

it.each([
  'Growth of @sales; sales are weekly.',
  'Write to me@sales, sales@example.org or x.sales about presales.',
  'The mean of prices.'
])('hints at nothing where a word means something else: %s', prose => {
  const wide = { ...SALES, name: 'wide', columns: [{ name: 'prices', dtype: 'float64' }] };
  const prices = { ...SALES, name: 'prices' };
  const handed = prose.includes('prices') ? `${prose} In @wide.` : prose;
  expect(problems(`%%autocode f\n${handed}`, [SALES, wide, prices])).toEqual([]);
});

it('says that the extension is not loaded, where that is known', () => {
  const text = '%%autocode f\nDo it.';
  const [found] = problems(text, null, { absent: true });
  expect(found.what).toBe('autocoder_jupyter is not loaded in this kernel.');
  expect(found.hint).toContain('%load_ext autocoder_jupyter');
  expect(text.slice(found.from, found.to)).toBe('%%autocode');
});
