import type { IJob } from '../link/tokens';
import { counted, dollars } from '../results/amounts';

/** The text of the status bar for the jobs of a kernel: `2 running · 1 failed · $0.120`; empty without jobs. */
export function statusText(jobs: readonly IJob[]): string {
  if (jobs.length === 0) {
    return '';
  }
  const running = jobs.filter(job => job.phase === 'running').length;
  const waiting = jobs.filter(job => job.phase === 'waiting').length;
  const ended = jobs.filter(job => job.phase !== 'running' && job.phase !== 'waiting');
  const asking = ended.filter(job => job.tone === 'warn' && job.phase !== 'not_verified').length;
  const failed = ended.filter(job => job.tone === 'bad').length;
  const standing = [running > 0 && `${running} running`, waiting > 0 && `${waiting} waiting for you`].filter(Boolean);
  const facts = standing.length > 0 ? standing : [counted(jobs.length, 'result')];
  const ends = [asking > 0 && `${asking} with a question for you`, failed > 0 && `${failed} failed`];
  return [...facts, ...ends, spend(jobs)].filter(Boolean).join(' · ');
}

/** The cost of all jobs; an unknown cost is shown as unknown. */
export function spend(jobs: readonly IJob[]): string {
  const known = jobs.flatMap(job => (job.cost === null ? [] : [job.cost]));
  const sum = known.reduce((sum, cost) => sum + cost, 0);
  const parts = [sum > 0 && dollars(sum), known.length < jobs.length && 'unknown cost'].filter(Boolean);
  return parts.length === 1 && sum === 0 ? 'cost unknown' : parts.join(' + ');
}
