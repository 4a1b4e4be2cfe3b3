import { job } from '../../link/__tests__/fakes';
import type { IEntry } from '../../results/entries';
import { isUnderWay } from '../../results/entries';
import { chosen } from '../target';

const ENTRIES: IEntry[] = [
  { name: 'ended', cellId: 'a', job: job({ name: 'ended', phase: 'ready' }) },
  { name: 'runs', cellId: 'b', job: job({ name: 'runs', phase: 'running' }) },
  { name: 'absent', cellId: 'c', job: null }
];
const runs = (entry: IEntry): boolean => isUnderWay(entry.job);
const any = (): boolean => true;

it('is what was named', () => {
  expect(chosen(ENTRIES, 'ended', { name: 'runs' }, runs)?.name).toBe('runs');
});

it('is nothing when what was named does not fit, or is not there', () => {
  expect(chosen(ENTRIES, 'runs', { name: 'ended' }, runs)).toBeNull();
  expect(chosen(ENTRIES, 'runs', { name: 'nobody' }, runs)).toBeNull();
});

it('is that of the active cell by default', () => {
  expect(chosen(ENTRIES, 'absent', {}, any)?.name).toBe('absent');
});

it('is the only one that fits, when the active cell is another', () => {
  expect(chosen(ENTRIES, 'ended', {}, runs)?.name).toBe('runs');
  expect(chosen(ENTRIES, null, {}, runs)?.name).toBe('runs');
  expect(chosen(ENTRIES, null, {}, any)).toBeNull();
});

it('is never another cell’s in the toolbar of a cell', () => {
  expect(chosen(ENTRIES, 'runs', { cell: true }, runs)?.name).toBe('runs');
  expect(chosen(ENTRIES, 'ended', { cell: true }, runs)).toBeNull();
  expect(chosen(ENTRIES, null, { cell: true }, runs)).toBeNull();
});
