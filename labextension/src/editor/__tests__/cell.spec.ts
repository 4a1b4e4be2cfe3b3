import { VOCABULARY } from '../../vocabulary';
import type { ICell } from '../cell';
import { isAutocode, parseCell } from '../cell';
import { CASES, OURS } from './cases';

function read(text: string): ICell {
  const cell = parseCell(text, VOCABULARY);
  if (cell === null) {
    throw new Error('not one of ours');
  }
  return cell;
}

/** What the cell gives, in the terms of the table. */
function given(cell: ICell): { [option: string]: string[] } {
  const all: { [option: string]: string[] } = {};
  for (const { option, flag, value } of cell.given) {
    const values = (all[option?.name ?? flag] ??= []);
    values.push(...(value === null ? [] : [value.text]));
  }
  return all;
}

it.each(CASES)('recognises our cells as IPython does: $case', ({ cell, ours }) => {
  expect(isAutocode(cell)).toBe(ours);
});

it.each(OURS)('tells options from prose as the kernel does: $case', ({ cell, request, references }) => {
  const { request: found, references: mentioned } = read(cell);
  expect(found).toBe(request);
  expect([...new Set(mentioned.map(({ name }) => name))]).toEqual(references);
});

it.each(OURS.filter(({ problem }) => problem === null))(
  'reads name and options as the kernel does: $case',
  ({ cell, name, given: expected }) => {
    const found = read(cell);
    expect(found.unclosed).toBeNull();
    if (expected !== undefined) {
      expect(given(found)).toEqual(expected);
    }
    if (name !== '') {
      expect(found.positional.map(({ text }) => text)).toEqual([name]);
    }
  }
);

it.each(OURS)('knows where everything stands: $case', ({ cell: text }) => {
  const cell = read(text);
  const at = ({ from, to }: { from: number; to: number }): string => text.slice(from, to);
  expect(at(cell.command)).toBe('%%autocode');
  for (const { flag, at: place, value } of cell.given) {
    expect(at(place)).toBe(flag);
    if (value !== null && value.start !== null) {
      expect(text.slice(value.start, value.start + value.text.length)).toBe(value.text);
    }
  }
  for (const reference of cell.references) {
    expect(at(reference)).toBe(`@${reference.name}`);
  }
  for (const word of cell.positional) {
    expect(at(word)).toBe(word.text);
  }
});

it('keeps the rest of an open quote apart', () => {
  const text = '%%autocode f --wait -o "monthly: Da\nDo it.';
  const { unclosed, given: options } = read(text);
  expect(text.slice(unclosed?.from, unclosed?.to)).toBe('"monthly: Da');
  expect(options.map(({ flag }) => flag)).toEqual(['--wait', '-o']);
});
