import type { IVariable } from '../../link/tokens';
import { VOCABULARY } from '../../vocabulary';
import type { ICompletions } from '../completions';
import { complete } from '../completions';

const VARIABLES: IVariable[] = [
  { name: 'sales', type: 'DataFrame', rows: 2000, columns: [{ name: 'price', dtype: 'float64' }], column_count: 3 },
  { name: 'prices', type: 'Series', rows: 10, columns: [{ name: 'price', dtype: 'float64' }], column_count: 1 },
  { name: 'logs', type: 'File', path: 'logs.csv' }
];

/** At the bar in the text. */
function at(marked: string, variables: IVariable[] | null = VARIABLES): ICompletions | null {
  const offset = marked.indexOf('|');
  return complete(marked.replace('|', ''), offset, VOCABULARY, variables);
}

function texts(marked: string): string[] | undefined {
  return at(marked)?.items.map(({ text }) => text);
}

it('offers nothing in cells that are not ours', () => {
  expect(at('%%time\n@s|')).toBeNull();
});

it.each(['%%autocode f\nRevenue of @s|', '%%autocode f -o "a: int"\nof @s| by month'])(
  'offers data of the notebook: %s',
  marked => {
    expect(texts(marked)).toEqual(['@sales']);
    expect(at(marked)?.from).toBe(marked.indexOf('@'));
  }
);

it('offers data as a sample', () => {
  expect(texts('%%autocode f -s s|')).toEqual(['sales']);
});

it('says of each value what it is and how large', () => {
  const items = at('%%autocode f\n@|')?.items;
  expect(items?.map(({ kind }) => kind.replaceAll('\u00a0', ' '))).toEqual([
    'DataFrame 2,000 × 3',
    'Series 10',
    'File logs.csv'
  ]);
  expect(items?.[0].info).toBe('sales\nDataFrame · 2,000 rows × 3 columns\nprice: float64\nand 2 more');
});

it.each(['%%autocode f\nme@s|', '%%autocode f\n@@s|', '%%autocode f\nsal|', '%%autocode f\n- s|', '%%autocode f sal|'])(
  'offers nothing where no name of data is meant: %s',
  marked => expect(at(marked)).toEqual({ from: marked.indexOf('|'), items: [], kernelKnows: false })
);

it('offers options with what they do', () => {
  const found = at('%%autocode f --max|');
  expect(found?.from).toBe('%%autocode f '.length);
  expect(found?.items.map(({ text }) => text)).toEqual(['--max-cost', '--max-iterations', '--max-tokens']);
  expect(found?.items.map(({ kind }) => kind)).toEqual(['DOLLARS', 'N', 'TOKENS']);
  expect(found?.items[0].info).toBe('--max-cost DOLLARS\nmaximum cost in US dollars');
});

test('offers what is used most first, and no former spelling', () => {
  const offered = at('%%autocode f -|')?.items.map(({ text }) => text) ?? [];
  expect(offered.slice(0, 4)).toEqual(['-o', '--output', '-c', '--constraint']);
  expect(offered).not.toContain('--skip-tests');
  expect(at('%%autocode f --effort |')?.items.map(({ text }) => text)).toEqual(['none', 'quick', 'normal', 'high']);
});

it('offers an option once only, unless it can be repeated', () => {
  expect(texts('%%autocode f --wait -o "a: int" --w|')).toEqual([]);
  expect(texts('%%autocode f --wait -o "a: int"\n--o|')).toEqual(['--output']);
  expect(texts('%%autocode f -m x\n--mode|')).toEqual(['--mode']);
});

it.each(['%%autocode f\n-|', '%%autocode f\n  --|'])(
  'offers options at the beginning of a line of options: %s',
  marked => expect(texts(marked)).toContain('--share')
);

it('offers no options before the name is begun', () => {
  expect(texts('%%autocode-|')).toBeUndefined();
});

it.each(['%%autocode f --share |', '%%autocode f --share=|'])('offers the values of a choice: %s', marked =>
  expect(texts(marked)).toEqual(['rows', 'stats', 'schema'])
);

it.each(['-o "a: D|', "--output 'a:D|", '-o a:D|', '--output=a:D|'])('offers types of outputs: %s', option =>
  expect(texts(`%%autocode f ${option}`)).toEqual(['Dir', 'DataFrame'])
);

it('offers types of inputs', () => {
  expect(texts('%%autocode f -i "a: F|')).toEqual(['File']);
  expect(texts('%%autocode f -o "a: F|')).toEqual(['File', 'Figure']);
});

it('leaves names of models to the kernel, and of data that the kernel has not told', () => {
  expect(at('%%autocode f -m open|')?.kernelKnows).toBe(true);
  expect(at('%%autocode f\n@s|', null)?.kernelKnows).toBe(true);
  expect(at('%%autocode f\n@s|')?.kernelKnows).toBe(false);
});
