import { clock, counted, dollars } from '../amounts';

it.each([
  [0, '$0.000'],
  [0.0312, '$0.031'],
  [1.5, '$1.50']
])('a cost of %s is %s', (cost, words) => expect(dollars(cost)).toBe(words));

it.each([
  [-1, '00:00'],
  [41.9, '00:41'],
  [3723, '1:02:03']
])('%d seconds on the clock are %s', (seconds, words) => expect(clock(seconds)).toBe(words));

it('counts one and many', () => {
  expect([counted(1, 'attempt'), counted(0, 'attempt')]).toEqual(['1 attempt', '0 attempts']);
});
