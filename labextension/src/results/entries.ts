import type { INamedCell } from '../cells/names';
import { flagOf } from '../cells/option';
import type { IJob } from '../link/tokens';
import { VOCABULARY } from '../vocabulary';
import { amount, clock, counted, dollars, duration } from './amounts';

/** One line of the panel: a result of the kernel, or a cell that was not run in it. */
export interface IEntry {
  name: string;
  /** The cell that makes it, if it is in the notebook. */
  cellId: string | null;
  job: IJob | null;
}

/** How an entry stands. `changed` is ready, with something to know: changed tests, or more spent than allowed. */
export type Standing = 'absent' | 'running' | 'waiting' | 'ready' | 'changed' | 'failed' | 'cancelled' | 'over_budget';

const WORDS: { readonly [standing in Standing]: string } = {
  absent: 'Not run in this kernel',
  running: 'Running',
  waiting: 'Waiting for approval',
  ready: 'Ready',
  changed: 'Ready, with changed tests',
  failed: 'Failed',
  cancelled: 'Cancelled',
  over_budget: 'Over budget'
};

/** Cells in the order of the notebook, then the results that no cell of it makes; each name once. */
export function entries(cells: readonly INamedCell[], jobs: readonly IJob[]): IEntry[] {
  const names = new Set([...cells.map(cell => cell.name), ...jobs.map(job => job.name)]);
  return [...names].map(name => {
    const job = jobs.find(job => job.name === name) ?? null;
    const own = cells.filter(cell => cell.name === name);
    const made = own.find(cell => cell.id === job?.cell_id) ?? own[0];
    return { name, cellId: made?.id ?? null, job };
  });
}

/** How it stands. */
export function standing({ job }: IEntry): Standing {
  if (job === null) {
    return 'absent';
  }
  return job.phase === 'ready' && (job.tests_changed || job.reason !== '') ? 'changed' : job.phase;
}

/** Whether it is a function, which can be inserted, exported and has versions; or is to be one. */
export function isFunction(job: IJob | null): boolean {
  return job?.mode !== 'tools';
}

/** Whether it goes on, or will when somebody answers. */
export function isUnderWay(job: IJob | null): boolean {
  return job?.phase === 'running' || job?.phase === 'waiting';
}

/** Whether a run was ended by a limit that a cell can raise. */
export function canRaise(job: IJob): boolean {
  return job.limit_value !== null && flagOf(job.limit, VOCABULARY) !== null;
}

/** How it stands, in words; while it runs, what it does; where there is something to know, that. */
export function word(entry: IEntry): string {
  const how = standing(entry);
  const said = how === 'running' || how === 'changed' ? (entry.job?.title ?? '') : '';
  return said || WORDS[how];
}

/**
 * How far it got: the clock, attempts and tests.
 *
 * @param job what is told of
 * @param since the seconds that passed since the kernel said so
 */
export function progress(job: IJob, since: number): string[] {
  const underWay = isUnderWay(job);
  return present(
    underWay ? clock(job.seconds + since) : job.seconds > 0 && duration(job.seconds),
    underWay
      ? job.attempt > 0 && `attempt ${job.attempt} of ${job.of}`
      : job.attempt > 0 && counted(job.attempt, 'attempt'),
    job.agent !== '' && job.agent,
    job.tests > 0 && `${job.passed} of ${counted(job.tests, 'test')} passed`
  );
}

/** What it took of the model: tokens and cost; nothing as long as nothing was spent. */
export function spending(job: IJob): string[] {
  if (job.input_tokens === 0 && job.output_tokens === 0) {
    return present(job.replayed && 'replayed from the journal');
  }
  const limit = job.max_cost === null ? '' : `${job.cost === null ? ', limit' : ' of'} $${job.max_cost.toFixed(2)}`;
  return present(
    `${amount(job.input_tokens)} tokens in, ${amount(job.output_tokens)} out`,
    `${dollars(job.cost)}${limit}`,
    job.replayed && 'replayed from the journal'
  );
}

/** Why it ended as it did, unless the word for it says the same. */
export function reason(job: IJob): string {
  const said = job.reason.trim();
  const repeats = said.replace(/\.$/, '').toLowerCase() === job.phase.replace('_', ' ');
  return repeats ? '' : said;
}

/** What a screen reader is told between two views: each result whose words have changed. */
export function news(before: readonly IEntry[], now: readonly IEntry[]): string {
  const known = new Map(before.map(entry => [entry.name, word(entry)]));
  return now
    .filter(entry => entry.job !== null && known.get(entry.name) !== word(entry))
    .map(entry => `${entry.name}: ${word(entry)}`)
    .join('. ');
}

function present(...facts: (string | false)[]): string[] {
  return facts.filter(fact => fact !== false);
}
