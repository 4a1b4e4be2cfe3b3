import type { ICellProblem } from '../../link/tokens';
import { VOCABULARY } from '../../vocabulary';
import type { ICell } from '../cell';
import { parseCell } from '../cell';
import type { IProblem } from '../problems';
import { ownProblems, placed } from '../problems';

function read(text: string): ICell {
  return parseCell(text, VOCABULARY)!;
}

const SAID: ICellProblem = {
  severity: 'error',
  what: 'It is wrong.',
  hint: 'Mend it.',
  instead: '',
  area: 'command',
  word: -1,
  start: 0,
  end: null
};

function place(text: string, at: Partial<ICellProblem>): string {
  const [{ from, to }] = placed([{ ...SAID, ...at }], read(text));
  return text.slice(from, to);
}

function marked(text: string, found: IProblem[]): string[] {
  return found.map(({ from, to }) => text.slice(from, to));
}

it('finds by itself an option that there is not, and a quote that is not closed', () => {
  const unknown = '%%autocode f --modle=x --wait\nDo it.';
  expect(marked(unknown, ownProblems(read(unknown), false))).toEqual(['--modle']);
  const open = '%%autocode f -o "monthly: DataFrame\nDo it.';
  expect(marked(open, ownProblems(read(open), false))).toEqual(['"monthly: DataFrame']);
});

it('finds nothing in a cell that only asks for help', () => {
  expect(ownProblems(read('%%autocode --nonsense --help'), false)).toEqual([]);
});

it('says that the extension is not loaded, where that is known', () => {
  const text = '%%autocode f\nDo it.';
  const [found] = ownProblems(read(text), true);
  expect(found.what).toBe('autocoder_jupyter is not loaded in this kernel.');
  expect(found.hint).toContain('%load_ext autocoder_jupyter');
  expect(marked(text, [found])).toEqual(['%%autocode']);
});

it('leaves all other rules to the kernel', () => {
  expect(ownProblems(read('%%autocode 2fast --sandbox dockr -o "a: DataFrme"\nOf @nothing.'), false)).toEqual([]);
});

it.each([
  ['a word', '%%autocode f --sandbox dockr\nDo it.', { word: 2 }, 'dockr'],
  ['a part of a word in quotes', '%%autocode f -o "a: DataFrme"\nDo it.', { word: 2, start: 3, end: 11 }, 'DataFrme'],
  ['a value behind an equals sign', '%%autocode f --sandbox=dockr\nDo it.', { word: 1, start: 10, end: 15 }, 'dockr'],
  ['a word of a line below', '%%autocode f\n  -o "a: itn"\nDo it.', { word: 2, start: 3, end: 6 }, 'itn'],
  [
    'all of a word with escaped quotes',
    '%%autocode f -c "\\"a\\" b"\nDo it.',
    { word: 2, start: 0, end: 3 },
    '"\\"a\\" b"'
  ],
  ['a character beyond two bytes', '%%autocode f -c "😀 ab"\nDo it.', { word: 2, start: 2, end: 4 }, 'ab']
])('places what the kernel says of %s', (_, text, at, expected) => {
  expect(place(text, { area: 'word', ...at })).toBe(expected);
});

it('places what the kernel says of the request', () => {
  expect(place('%%autocode f --wait\n\n😀 of @saless.\n', { area: 'request', start: 5, end: 12 })).toBe('@saless');
});

it('places an open quote, the command, and what it cannot place', () => {
  expect(place('%%autocode f -c "open\nDo it.', { area: 'quote' })).toBe('"open');
  expect(place('\n%%autocode\nDo it.', { area: 'command' })).toBe('%%autocode');
  expect(place('%%autocode f\nDo it.', { area: 'word', word: 7 })).toBe('%%autocode');
});

it('offers a text only where there is one', () => {
  const [none, one] = placed([SAID, { ...SAID, instead: '--model' }], read('%%autocode f\nDo it.'));
  expect([none.instead, one.instead]).toEqual([undefined, '--model']);
});
