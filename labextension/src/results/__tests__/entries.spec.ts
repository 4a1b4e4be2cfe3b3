import { job } from '../../link/__tests__/fakes';
import type { IEntry } from '../entries';
import { entries, news, progress, reason, spending, standing, word } from '../entries';

const entry = (given: Parameters<typeof job>[0]): IEntry => ({ name: 'growth', cellId: 'a', job: job(given) });
const ABSENT: IEntry = { name: 'growth', cellId: 'a', job: null };

describe('the entries of a notebook', () => {
  it('are its cells in their order, then the results that no cell makes', () => {
    const cells = [
      { id: 'b', name: 'second' },
      { id: 'a', name: 'first' }
    ];
    const jobs = [job({ name: 'loaded' }), job({ name: 'first', cell_id: 'a' })];
    expect(entries(cells, jobs).map(({ name, cellId, job }) => [name, cellId, job !== null])).toEqual([
      ['second', 'b', false],
      ['first', 'a', true],
      ['loaded', null, true]
    ]);
  });

  it('name a result once; of two cells with its name, the one that was run stands for it', () => {
    const cells = [
      { id: 'a', name: 'growth' },
      { id: 'b', name: 'growth' }
    ];
    expect(entries(cells, [job({ cell_id: 'b' })])).toHaveLength(1);
    expect(entries(cells, [job({ cell_id: 'b' })])[0].cellId).toBe('b');
    expect(entries(cells, [job({ cell_id: 'deleted' })])[0].cellId).toBe('a');
  });
});

describe('how an entry stands', () => {
  it('is said in words', () => {
    expect(word(ABSENT)).toBe('Not run in this kernel');
    expect(word(entry({ phase: 'running', title: 'Running the tests' }))).toBe('Running the tests');
    expect(word(entry({ phase: 'running', title: '' }))).toBe('Running');
    expect(word(entry({ phase: 'waiting' }))).toBe('Waiting for approval');
    expect(word(entry({ phase: 'ready' }))).toBe('Ready');
    expect(word(entry({ phase: 'over_budget' }))).toBe('Over budget');
    expect(word(entry({ phase: 'not_verified' }))).toBe('Not verified here');
  });

  it('tells a result with changed tests from one without', () => {
    expect(standing(entry({ phase: 'ready', tests_changed: true }))).toBe('changed');
    const said = 'Ready, with changed tests';
    expect(word(entry({ phase: 'ready', tests_changed: true, title: said }))).toBe(said);
    expect(word(entry({ phase: 'ready', tests_changed: true, title: '' }))).toBe(said);
    expect(standing(entry({ phase: 'failed', tests_changed: true }))).toBe('failed');
  });

  it('tells a result that cost more than it might from one that did not', () => {
    const dear = entry({ phase: 'ready', reason: 'It cost $0.6200.', title: 'Ready, over its budget' });
    expect(standing(dear)).toBe('changed');
    expect(word(dear)).toBe('Ready, over its budget');
  });
});

describe('how far a job got', () => {
  it('counts the clock on from what the kernel said', () => {
    const running = job({ phase: 'running', seconds: 58.6, attempt: 2, of: 5, passed: 4, tests: 6 });
    expect(progress(running, 3)).toEqual(['01:01', 'attempt 2 of 5', '4 of 6 tests passed']);
  });

  it('stops the clock at the end', () => {
    const ended = job({ phase: 'ready', seconds: 41, attempt: 1, of: 5, passed: 1, tests: 1 });
    expect(progress(ended, 1000)).toEqual(['41 s', '1 attempt', '1 of 1 test passed']);
  });

  it('says how far an agent is', () => {
    const running = job({ phase: 'running', agent: 'turn 4 of 50, 12 tool calls' });
    expect(progress(running, 3)).toEqual(['00:03', 'turn 4 of 50, 12 tool calls']);
  });

  it('says nothing of what is not there', () => {
    expect(progress(job({ phase: 'ready' }), 0)).toEqual([]);
  });
});

describe('what a job took', () => {
  it('is nothing before anything was asked', () => {
    expect(spending(job({}))).toEqual([]);
  });

  it('is tokens, cost and budget', () => {
    const spent = job({ input_tokens: 12_345, output_tokens: 950, cost: 0.031, max_cost: 0.5 });
    expect(spending(spent)).toEqual(['12.3K tokens in, 950 out', '$0.031 of $0.50']);
  });

  it('has an unknown cost rather than a wrong one', () => {
    const spent = { input_tokens: 1, output_tokens: 1, cost: null };
    expect(spending(job(spent))).toContain('cost unknown');
    expect(spending(job({ ...spent, max_cost: 0.5 }))).toContain('cost unknown, limit $0.50');
  });

  it('says when nothing was asked because the journal knew it', () => {
    expect(spending(job({ replayed: true }))).toEqual(['replayed from the journal']);
  });
});

describe('the reason of an end', () => {
  it('is not the word for it again', () => {
    expect(reason(job({ phase: 'cancelled', reason: 'Cancelled.' }))).toBe('');
    expect(reason(job({ phase: 'over_budget', reason: 'Over budget.' }))).toBe('');
    expect(reason(job({ phase: 'failed', reason: 'No test passed.' }))).toBe('No test passed.');
  });
});

describe('what a screen reader is told', () => {
  it('is each result whose words changed, and not the clock', () => {
    const before = [entry({ phase: 'running', title: 'Planning', seconds: 1 })];
    expect(news(before, [entry({ phase: 'running', title: 'Planning', seconds: 9 })])).toBe('');
    expect(news(before, [entry({ phase: 'ready' })])).toBe('growth: Ready');
    expect(news([ABSENT], before)).toBe('growth: Planning');
    expect(news(before, [ABSENT])).toBe('');
  });
});
