import { job } from '../../link/__tests__/fakes';
import type { IEntry } from '../entries';
import { entries, facts, news, standing, word } from '../entries';

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
  it('is said in the words of the kernel', () => {
    expect(word(ABSENT)).toBe('Not run in this kernel');
    expect(word(entry({ phase: 'running', title: 'Running the tests' }))).toBe('Running the tests');
  });

  it('tells a result with a question, or one that is not fully checked, from one that is', () => {
    expect(standing(ABSENT)).toBe('absent');
    expect(standing(entry({ phase: 'ready', tone: 'good' }))).toBe('ready');
    expect(standing(entry({ phase: 'ready', tone: 'warn' }))).toBe('asking');
    expect(standing(entry({ phase: 'ready', tone: 'quiet' }))).toBe('unchecked');
    expect(standing(entry({ phase: 'failed', tone: 'warn' }))).toBe('asking');
    expect(standing(entry({ phase: 'cancelled', tone: 'warn' }))).toBe('asking');
    expect(standing(entry({ phase: 'failed', tone: 'bad' }))).toBe('failed');
    expect(standing(entry({ phase: 'waiting', tone: 'warn' }))).toBe('waiting');
    expect(standing(entry({ phase: 'not_verified', tone: 'warn' }))).toBe('not_verified');
  });
});

describe('the facts of a job', () => {
  it('begin with a clock that counts on from what the kernel said', () => {
    const running = job({ phase: 'running', seconds: 58.6, facts: ['attempt 2 of 5', '4 of 6 tests passed'] });
    expect(facts(running, 3)).toEqual(['01:01', 'attempt 2 of 5', '4 of 6 tests passed']);
  });

  it('are those of the kernel after the end', () => {
    expect(facts(job({ phase: 'ready', seconds: 41, facts: ['1 attempt', '41 s'] }), 1000)).toEqual([
      '1 attempt',
      '41 s'
    ]);
  });
});

describe('what a screen reader is told', () => {
  it('is each result whose words changed, and not the clock', () => {
    const before = [entry({ phase: 'running', title: 'Planning', seconds: 1 })];
    expect(news(before, [entry({ phase: 'running', title: 'Planning', seconds: 9 })])).toBe('');
    expect(news(before, [entry({ phase: 'ready', title: 'Ready' })])).toBe('growth: Ready');
    expect(news([ABSENT], before)).toBe('growth: Planning');
    expect(news(before, [ABSENT])).toBe('');
  });
});
