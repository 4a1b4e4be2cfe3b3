import { didYouMean } from '../suggestions';

it('offers what is most like the word, whatever its case', () => {
  expect(didYouMean('dataframe', ['Series', 'DataFrame'])).toBe('Did you mean DataFrame?');
  expect(didYouMean('saless', ['sales', 'tales'], '@')).toBe('Did you mean @sales?');
});

it('lists what there is when nothing is like it', () => {
  expect(didYouMean('zzz', ['a', 'b'], '@')).toBe('There is @a, @b.');
  const many = Array.from({ length: 13 }, (_, index) => `n${index}`);
  expect(didYouMean('zzz', many)).toMatch(/n11 …\.$/);
});

it('says nothing when there is nothing', () => {
  expect(didYouMean('zzz', [])).toBe('');
});
