import { amount, clock, counted, dollars, duration } from '../amounts';

it.each([
  [950, '950'],
  [12_345, '12.3K'],
  [999_949, '999.9K'],
  [999_950, '1.0M'],
  [1_234_567, '1.2M']
])('%d tokens are %s', (count, words) => expect(amount(count)).toBe(words));

it.each([
  [null, 'cost unknown'],
  [0, '$0.000'],
  [0.0312, '$0.031'],
  [1.5, '$1.50']
])('a cost of %s is %s', (cost, words) => expect(dollars(cost)).toBe(words));

it.each([
  [-1, '00:00'],
  [41.9, '00:41'],
  [3723, '1:02:03']
])('%d seconds on the clock are %s', (seconds, words) => expect(clock(seconds)).toBe(words));

it.each([
  [0.84, '0.8 s'],
  [41, '41 s'],
  [200, '3 min 20 s'],
  [3720, '1 h 2 min']
])('%d seconds took %s', (seconds, words) => expect(duration(seconds)).toBe(words));

it('counts one and many', () => {
  expect([counted(1, 'attempt'), counted(0, 'attempt')]).toEqual(['1 attempt', '0 attempts']);
});
