import { templateOf } from '../template';

it('begins with a name that is free and the first table', () => {
  const file = { name: 'report', type: 'File' };
  const sales = { name: 'sales', type: 'DataFrame' };
  expect(templateOf([], [])).toBe('%%autocode result\nDescribe what you need.');
  expect(templateOf(['result'], [file, sales])).toBe('%%autocode result_2\nDescribe what you need from @sales.');
  expect(templateOf(['result'], [{ name: 'result_2', type: 'DataFrame' }])).toContain('%%autocode result_3\n');
});
