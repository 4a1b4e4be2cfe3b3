import { templateOf } from '../template';

it('begins with a name that is free and the first table', () => {
  const file = { name: 'report', type: 'File' };
  const sales = { name: 'sales', type: 'DataFrame' };
  expect(templateOf([], [])).toBe('%%autocode result\nSay what you need, in your own words.');
  expect(templateOf(['result'], [file, sales])).toBe(
    '%%autocode result_2\nSay what you need from @sales, in your own words.'
  );
  expect(templateOf(['result'], [{ name: 'result_2', type: 'DataFrame' }])).toContain('%%autocode result_3\n');
});
