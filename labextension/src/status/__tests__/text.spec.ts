import { job } from '../../link/__tests__/fakes';
import { statusText } from '../text';

const spent = (cost: number | null): Parameters<typeof job>[0] => ({ cost });

it('says nothing when there is nothing', () => {
  expect(statusText([])).toBe('');
});

it('counts what runs and what waits, and adds up what is known', () => {
  const jobs = [
    job({ phase: 'running', ...spent(0.1) }),
    job({ phase: 'running', ...spent(0.02) }),
    job({ phase: 'waiting' }),
    job({ phase: 'ready' })
  ];
  expect(statusText(jobs)).toBe('2 running · 1 waiting for you · $0.120');
});

it('counts results when nothing runs', () => {
  expect(statusText([job({ phase: 'ready', ...spent(0.5) })])).toBe('1 result · $0.500');
  expect(statusText([job({ phase: 'ready' }), job({ phase: 'failed' })])).toBe('2 results');
});

it('says what asks or has failed', () => {
  const asks = job({ phase: 'ready', tone: 'warn' });
  expect(statusText([asks, job({ phase: 'ready', tone: 'good' })])).toBe('2 results · 1 with a question for you');
  expect(statusText([job({ phase: 'failed', tone: 'bad' }), asks, job({})])).toBe(
    '1 running · 1 with a question for you · 1 failed'
  );
});

it('says that a cost is unknown, and never counts it as nothing', () => {
  expect(statusText([job({ ...spent(null) })])).toBe('1 running · cost unknown');
  expect(statusText([job({ ...spent(null) }), job({ ...spent(0.25) })])).toBe('2 running · $0.250 + unknown cost');
});
