import type { INamedCell } from '../cells/names';
import type { IJob, Phase } from '../link/tokens';
import { clock } from './amounts';

/** One line of the panel: a result of the kernel, or a cell that was not run in it. */
export interface IEntry {
  name: string;
  /** The cell of the result, if it is in the notebook. */
  cellId: string | null;
  job: IJob | null;
}

/** The state of an entry. Ready is one of three: fully checked, `asking` with a question, or `unchecked` in part.
 * A run that has ended and only asks for a model, a price or the new name of a column is `asking` too. */
export type Standing = 'absent' | 'asking' | 'unchecked' | Phase;

/** The states in the order of their counts, in words. */
export const STANDINGS: { readonly [standing in Standing]: string } = {
  running: 'running',
  waiting: 'waiting for you',
  asking: 'with a question for you',
  unchecked: 'not fully checked',
  ready: 'ready',
  failed: 'failed',
  over_budget: 'out of budget',
  cancelled: 'cancelled',
  not_verified: 'not verified here',
  absent: 'not run in this kernel'
};

/** The cells in the order of the notebook, then the results without a cell; each name once. */
export function entries(cells: readonly INamedCell[], jobs: readonly IJob[]): IEntry[] {
  const names = new Set([...cells.map(cell => cell.name), ...jobs.map(job => job.name)]);
  return [...names].map(name => {
    const job = jobs.find(job => job.name === name) ?? null;
    const own = cells.filter(cell => cell.name === name);
    const made = own.find(cell => cell.id === job?.cell_id) ?? own[0];
    return { name, cellId: made?.id ?? null, job };
  });
}

/** The state of an entry. */
export function standing({ job }: IEntry): Standing {
  if (job === null) {
    return 'absent';
  }
  if (job.tone === 'warn' && job.phase !== 'waiting' && job.phase !== 'not_verified') {
    return 'asking';
  }
  return job.phase === 'ready' && job.tone !== 'good' ? 'unchecked' : job.phase;
}

/** Whether a job is running, or waits for the user. */
export function isUnderWay(job: IJob | null): boolean {
  return job?.phase === 'running' || job?.phase === 'waiting';
}

/** Whether the kernel says that an action is possible for a job. */
export function allows(job: IJob | null, action: string): boolean {
  return job?.actions.includes(action) ?? false;
}

/** Whether an action changes the cell of a result, so that the cell must be in the notebook. */
export function needsCell(action: string): boolean {
  return action === 'edit-request' || action === 'raise-limit';
}

/** The state as text. */
export function word({ job }: IEntry): string {
  return job?.title ?? 'Not run in this kernel';
}

/**
 * The facts, while it runs after its time so far.
 *
 * @param job the job
 * @param since seconds since the kernel sent it
 */
export function facts(job: IJob, since: number): string[] {
  return isUnderWay(job) ? [clock(job.seconds + since), ...job.facts] : job.facts;
}

/** All that is known of an entry, as lines of text. */
export function told(entry: IEntry, since: number): string {
  const { name, job } = entry;
  const rows = (label: string): string[] => job?.rows[label] ?? [];
  const shown = job === null ? '' : facts(job, since).join(' · ');
  const notes = [...rows('Note'), ...rows('Warnings')];
  return [
    `${name}: ${word(entry)}`,
    ...rows('Call'),
    ...rows('Verified').map(capitalized),
    ...rows('Reason'),
    shown,
    ...notes
  ]
    .filter(Boolean)
    .join('\n');
}

/** A sentence with its first letter in upper case. */
export function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The text for screen readers: each result whose state has changed. */
export function news(before: readonly IEntry[], now: readonly IEntry[]): string {
  const known = new Map(before.map(entry => [entry.name, word(entry)]));
  return now
    .filter(entry => entry.job !== null && known.get(entry.name) !== word(entry))
    .map(entry => `${entry.name}: ${word(entry)}`)
    .join('. ');
}
