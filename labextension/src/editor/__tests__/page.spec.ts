import { Page, offered } from './pages';

jest.mock('@jupyterlab/notebook', () => ({ INotebookTracker: {}, NotebookPanel: class {} }));

const shown = (place: string): string[] => [...document.querySelectorAll(place)].map(part => part.textContent!);
const button = (words: string): HTMLElement =>
  [...document.querySelectorAll('button')].find(({ textContent }) => textContent!.startsWith(words))!;

async function opened(...cells: string[]): Promise<Page> {
  const page = new Page(...cells);
  await page.settle();
  return page;
}

async function written(text: string): Promise<Page> {
  const page = await opened('');
  await page.type(text);
  return page;
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

describe('a cell of ours', () => {
  const PROSE = "Revenue of @sales: import what isn't there, def and class; mail me@example.org.";
  /** The texts that are coloured as code. */
  const tokens = (page: Page, at: number): string[] =>
    [...page.view(at).contentDOM.querySelectorAll('.cm-line span')]
      .filter(({ classList }) => ![...classList].some(name => /^(autocode|cm)-/.test(name)))
      .map(({ textContent }) => textContent!);

  it('is prose as long as it begins with the magic', async () => {
    const page = await opened(`%%autocode growth\n${PROSE}`, 'import os');
    expect(page.parts('autocode-prose')).toEqual([PROSE]);
    expect([tokens(page, 0), tokens(page, 1)]).toEqual([[], ['import']]);
    page.select(0, 1);
    page.press('Delete');
    await page.settle();
    expect(page.parts('autocode-prose')).toEqual([]);
    expect(tokens(page, 0)).toContain('import');
    await page.type('%');
    expect(page.parts('autocode-prose')).toEqual([PROSE]);
    expect(tokens(page, 0)).toEqual([]);
  });

  it('is not indented like Python, and its lines wrap', async () => {
    const text = '\nFor each month:\nfor month in sales:\nelse nothing (and so on';
    const page = await opened('', '');
    await page.type('%%autocode growth');
    await page.type(text);
    expect(page.text()).toBe(`%%autocode growth${text}`);
    await page.type('for month in sales:\n', 1);
    expect(page.text(1)).toMatch(/:\n {4}$/);
    expect(page.view().contentDOM.classList).toContain('cm-lineWrapping');
  });
});

describe('what a cell names', () => {
  it('is described under the pointer, with shape and columns', async () => {
    const page = await opened('%%autocode growth --check "x > 0"\nGrowth of @sales.');
    await page.point('@sales');
    const [text] = shown('.autocode-hover');
    expect(text).toContain('DataFrame · 2,000 rows × 3 columns');
    expect(shown('.autocode-hover tr')).toEqual(['order_datedatetime64[ns]', 'regionstr', 'revenuefloat64']);
    await page.pointElsewhere();
    expect(shown('.autocode-hover')).toEqual([]);
    await page.point('--check');
    expect(shown('.autocode-hover')).toEqual([expect.stringContaining('--check')]);
  });

  it('is described and said by the keyboard, until somebody types', async () => {
    const page = await written('%%autocode growth\nGrowth of @sales');
    page.press('F1', 0, { ctrlKey: true });
    expect(shown('.autocode-hover')).toEqual([expect.stringContaining('2,000 rows × 3 columns')]);
    expect(shown('.cm-announced').join()).toContain('revenue: float64');
    await page.type(' ');
    expect(shown('.autocode-hover')).toEqual([]);
  });

  it('is known as soon as the kernel has it', async () => {
    const page = await opened('%%autocode growth\nGrowth of @orders.');
    expect(page.parts('autocode-unknown')).toEqual(['@orders']);
    expect(page.parts('cm-lintRange-warning')).toEqual(['@orders']);
    const [sales] = page.link.variables!;
    page.link.says({ variables: [sales, { ...sales, name: 'orders' }], wrong: {} });
    await page.settle();
    expect(page.parts('autocode-known')).toEqual(['@orders']);
    expect(page.parts('cm-lintRange-warning')).toEqual([]);
  });
});

describe('what is wrong in a cell', () => {
  it('is underlined and explained, and mended by a click', async () => {
    const page = await written('%%autocode growth --moddel x\n-o "a: DataFrme"\nGrowth of @saless.');
    expect(page.parts('cm-lintRange-error')).toEqual(['--moddel', 'DataFrme']);
    expect(page.parts('cm-lintRange-warning')).toEqual(['@saless']);
    await page.point('--moddel');
    expect(shown('.cm-diagnostic')).toEqual([expect.stringContaining('Did you mean --model?')]);
    button('Write --model').click();
    await page.settle();
    expect(page.text()).toMatch(/^%%autocode growth --model x\n/);
    expect(page.parts('cm-lintRange-error')).toEqual(['DataFrme']);
  });

  it('is reached and read by the keyboard', async () => {
    const page = await written('%%autocode growth --moddel\nDo it.');
    page.press('F8');
    expect(shown('.cm-announced').join()).toContain('There is no option --moddel.');
    const { from, to } = page.view().state.selection.main;
    expect(page.text().slice(from, to)).toBe('--moddel');
    page.press('m', 0, { ctrlKey: true, shiftKey: true });
    expect(shown('.cm-panel-lint li[role=option]')).toEqual([expect.stringContaining('There is no option --moddel.')]);
  });

  it('is what the page finds while no kernel answers, and then what the kernel finds', async () => {
    const page = await opened('');
    page.link.says({ connected: false, variables: null });
    await page.type('%%autocode growth --moddel x --sandbox dockr\nDo it.');
    expect(page.parts('cm-lintRange-error')).toEqual(['--moddel']);
    page.link.says({ connected: true, variables: [] });
    await page.settle();
    expect(page.parts('cm-lintRange-error')).toEqual(['--moddel', 'dockr']);
  });

  it('is marked in values, names and words, and listed with what helps', async () => {
    const page = await written('%%autocode limit --max-cost abc\n--check "total >"\nGrowth of sales above @limit.');
    expect(page.parts('cm-lintRange-error')).toEqual(['abc', 'total >']);
    expect(page.parts('cm-lintRange-warning')).toEqual(['limit', '@limit']);
    page.press('m', 0, { ctrlKey: true, shiftKey: true });
    const said = shown('.cm-panel-lint li');
    expect(said).toHaveLength(5);
    for (const words of [
      "'limit' is already a variable of the notebook (int).",
      "--max-cost must be a number above 0, not 'abc'.",
      "--check 'total >' is not a Python expression.",
      '@limit is an int; a request can refer to a DataFrame',
      '-i "limit: int = 5", or write the value itself.',
      'sales is a DataFrame of the notebook, and the request does not pass it.'
    ]) {
      expect(said.join('\n')).toContain(words);
    }
    button('Write @sales').dispatchEvent(new MouseEvent('mousedown', { bubbles: true }));
    await page.settle();
    expect(page.text()).toContain('Growth of @sales above');
  });

  it('is the extension that is not loaded, unless a cell of the notebook loads it', async () => {
    const page = await opened('%load_ext autocoder_jupyter', '%%autocode growth\nGrowth of it.');
    page.link.says({ connected: false, absent: true, variables: null });
    await page.settle();
    expect(page.parts('cm-lintRange-warning', 1)).toEqual([]);
    page.select(0, page.text().length);
    await page.type('x = 1');
    page.select(page.text(1).length, undefined, 1);
    await page.type(' ', 1);
    expect(page.parts('cm-lintRange-warning', 1)).toEqual(['%%autocode']);
    await page.point('%%autocode', 1);
    expect(shown('.cm-diagnostic')).toEqual([
      expect.stringContaining('Run a cell with %load_ext autocoder_jupyter first.')
    ]);
  });

  it('is a table without its at sign, which Tab or a click adds', async () => {
    const page = await written('%%autocode growth\nCompare the daily visits');
    expect(page.parts('cm-lintRange-info')).toEqual(['daily visits']);
    const menu = page.menu();
    menu.invoke();
    await page.settle();
    expect(page.parts('autocode-known')).toEqual(['@daily_visits']);
    expect(page.text()).toMatch(/Compare the @daily_visits$/);
    expect(offered(menu)).toEqual([]);
    await page.type(' with sales now');
    await page.point('sales');
    button('Write @sales').click();
    expect(page.text()).toMatch(/Compare the @daily_visits with @sales now$/);
  });
});

it('opens the menu at an at sign or a dash, if a person wants menus that open', async () => {
  const page = await written('%%autocode growth\nGrowth of @sales over ');
  const menu = page.menu();
  menu.autoCompletion = true;
  await page.type('@');
  expect(offered(menu).sort()).toEqual(['@daily_visits', '@sales']);
  await page.type('d');
  expect(offered(menu)).toEqual(['@daily_visits']);
  menu.completer.selectActive(); // what Enter does there
  expect(page.text()).toMatch(/Growth of @sales over @daily_visits$/);
  await page.type('\n-');
  expect(offered(menu)).toEqual([]);
  page.view().dispatch({ changes: { from: 0, to: page.text().length, insert: '%%autocode growth ' } });
  page.select(page.text().length);
  await page.type('-');
  expect(offered(menu)).toContain('--share');
});
