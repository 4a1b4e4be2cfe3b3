import type { INamedCell } from '../cells/names';
import type { CommandID } from '../commands/ids';
import { CommandIDs } from '../commands/ids';
import type { IJob, Phase } from '../link/tokens';
import { amount, clock, counted, dollars, duration } from './amounts';

/** One line of the panel: a result of the kernel, or a cell that was not run in it. */
export interface IEntry {
  name: string;
  /** The cell of the result, if it is in the notebook. */
  cellId: string | null;
  job: IJob | null;
}

/** The state of an entry. `changed` is ready with a warning: changed tests, or more cost than allowed. */
export type Standing = 'absent' | 'changed' | Phase;

const WORDS: { readonly [standing in Standing]: string } = {
  absent: 'Not run in this kernel',
  running: 'Running',
  waiting: 'Waiting for approval',
  ready: 'Ready',
  changed: 'Ready, with changed tests',
  failed: 'Failed',
  cancelled: 'Cancelled',
  over_budget: 'Over budget',
  not_verified: 'Not verified here'
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
  return job.phase === 'ready' && (job.tests_changed || job.reason !== '') ? 'changed' : job.phase;
}

/** Whether a job generates a function, which can be inserted and exported and has versions. */
export function isFunction(job: IJob | null): boolean {
  return job?.mode !== 'tools';
}

/** Whether a job is running, or waits for the user. */
export function isUnderWay(job: IJob | null): boolean {
  return job?.phase === 'running' || job?.phase === 'waiting';
}

/** Whether the kernel says that a command is possible for a job. */
export function allows(job: IJob | null, command: CommandID): boolean {
  return job?.actions?.includes(actionOf(command)) ?? false;
}

/** Whether a command changes the cell of a result, so that the cell must be in the notebook. */
export function needsCell(command: CommandID): boolean {
  return command === CommandIDs.editRequest || command === CommandIDs.raiseLimit;
}

/** The name of a command's action in the kernel. */
export function actionOf(command: CommandID): string {
  return command.slice(command.indexOf(':') + 1);
}

/** The state as text; while it runs, the current step; with a warning, the warning. */
export function word(entry: IEntry): string {
  const how = standing(entry);
  const said = how === 'running' || how === 'changed' ? (entry.job?.title ?? '') : '';
  return said || WORDS[how];
}

/**
 * The progress: time, attempts and tests.
 *
 * @param job the job
 * @param since seconds since the kernel sent it
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

/** Tokens and cost of the model; empty if no tokens were used. */
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

/** Why the run ended; empty if the state says the same. */
export function reason(job: IJob): string {
  const said = job.reason.trim();
  const repeats = said.replace(/\.$/, '').toLowerCase() === job.phase.replace('_', ' ');
  return repeats ? '' : said;
}

/** The text for screen readers: each result whose state has changed. */
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
