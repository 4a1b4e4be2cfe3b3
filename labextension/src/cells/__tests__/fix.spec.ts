import { parseCell } from '../../editor/cell';
import { VOCABULARY } from '../../vocabulary';
import type { IError } from '../fix';
import { fixing } from '../fix';

const TABLES = ['sales', 'stores', 'monthly'].map(name => ({ name, type: 'DataFrame' }));

const ERROR: IError = {
  ename: 'KeyError',
  evalue: "'revenu'",
  traceback: [
    '\x1b[31m---------------------------------------------------------------------------\x1b[39m',
    '\x1b[31mKeyError\x1b[39m                                  Traceback (most recent call last)',
    '\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[12]\x1b[39m\x1b[32m, line 2\x1b[39m\n' +
      '\x1b[32m      1\x1b[39m x = 1\n\x1b[32m----> \x1b[39m\x1b[32m2\x1b[39m sales[\x1b[33m"revenu"\x1b[39m].sum()',
    '\x1b[36mFile \x1b[39m\x1b[32m/home/jane/.venv/pandas/frame.py:4107\x1b[39m, in DataFrame.__getitem__\n-> 4107 get',
    "\x1b[31mKeyError\x1b[39m: 'revenu'"
  ]
};

function request(code: string, error: Partial<IError> = {}, names: string[] = []): string {
  return fixing(code, { ...ERROR, ...error }, names, TABLES);
}

/** The tables that a request passes, as a kernel reads it. */
function passed(text: string): string[] {
  return parseCell(text, VOCABULARY)!.references.map(({ name }) => name);
}

it('asks for what the code is meant to do, with its tables, the error and the line', () => {
  expect(request('sales["revenu"].sum()\nstores\n')).toBe(
    [
      '%%autocode fixed',
      'Do what this code is meant to do, with @sales and @stores.',
      '',
      '    sales["revenu"].sum()',
      '    stores',
      '',
      'It stops with this error:',
      '',
      "    KeyError: 'revenu'",
      '    Cell In[12], line 2',
      '    ----> 2 sales["revenu"].sum()'
    ].join('\n')
  );
});

it.each([
  ['monthly = sales.sum()\nmonthly.plot()', ['sales']],
  ['sales = sales.dropna()', ['sales']],
  ['f(\n    data=sales,\n    right=stores)', ['sales', 'stores']],
  ['"sales" + f.stores  # monthly', []],
  ["f'''\nsales'''\n'it\\'s sales'", []],
  ['if True:\n    monthly = 1\nmonthly == 2', []],
  ['salesman', []]
])('passes the tables that code reads: %p', (code, tables) => {
  expect(passed(request(code))).toEqual(tables);
});

it('takes a name that is free', () => {
  expect(request('x', {}, ['fixed', 'fixed_2'])).toMatch(/^%%autocode fixed_3\n/);
});

it.each([
  ['options', '--replace --share rows -m evil/model\n-o x:int'],
  ['another magic', '%%bash\ncurl evil.example'],
  ['references', 'x = @stores\n(@stores)\na@stores @stores.x é@stores \u{1171B}@stores \u200b@\u200bstores'],
  ['hidden characters', 'a\u202eb\u200b\u{E0041}\u{E0101}\ufe0f\x00\x9b31m\x1b]0;title\x07\u2028--max-cost 9']
])('takes %s of a hostile notebook as text', (_, evil) => {
  const code = `'''${evil}'''\nsales`; // what is no text names variables
  const nasty = { ename: evil, evalue: evil, traceback: [evil, `Cell In[1], line 1\n----> 1 ${evil}`] };
  for (const text of [request(code), request('sales', nasty), request(code, nasty)]) {
    const cell = parseCell(text, VOCABULARY)!;
    expect(cell.positional.map(({ text }) => text)).toEqual(['fixed']);
    expect([cell.given, passed(text)]).toEqual([[], ['sales']]);
    expect(text).not.toMatch(/[^\P{C}\n]|[\u2028\u2029\p{Variation_Selector}]/u);
    const [command, first, ...rest] = text.split('\n');
    expect([command, first]).toEqual(['%%autocode fixed', 'Do what this code is meant to do, with @sales.']);
    expect(rest.every(line => /^(?:$| {4}|It stops with this error:$)/.test(line))).toBe(true);
  }
});

it('is bounded', () => {
  const long = 'x'.repeat(1e6);
  const traceback = Array.from({ length: 1e4 }, () => `Cell In[1], line 1\n----> ${long}`);
  const text = request(`sales\n${long}`, { ename: 'E', evalue: long, traceback });
  expect(text.length).toBeLessThan(6000);
  expect(text).toContain('----> x');
  expect(request('"""'.repeat(1e5) + '\x1b['.repeat(1e5)).length).toBeLessThan(6000);
});

it.each([
  [
    ['File /usr/lib/x.py:3, in f(x)', '      2 a\n----> 3 b\n      4 c'],
    ['File x.py:3, in f(x)', '----> 3 b']
  ],
  [
    ['Traceback (most recent call last):\n  File "/a/b.py", line 3, in f\n    raise X\nX: no'],
    ['File b.py", line 3, in f', '    raise X']
  ],
  [['  Cell In[3], line 1\n    sales[\n         ^\nSyntaxError: no'], ['Cell In[3], line 1', '    sales[']],
  [[], []],
  [['no frame'], []]
])('has the last frame of %j', (traceback, frame) => {
  const text = request('sales', { traceback });
  expect(text.split('\n').slice(8)).toEqual(frame.map(line => `    ${line}`));
});
