import { mayBeAdded, withWords } from '../option';

it.each([
  ['%%autocode growth -o a:int\nTotal.', '%%autocode growth --refine -o a:int\nTotal.'],
  ['\n%%autocode growth\nTotal --refine.', '\n%%autocode growth --refine\nTotal --refine.'],
  ['%%autocode growth --wait --refine\nTotal.', '%%autocode growth --wait --refine\nTotal.'],
  ['growth.run()', 'growth.run()']
])('lets a cell start from the function that is there', (source, refined) => {
  expect(withWords(source, '--refine')).toBe(refined);
});

it.each([
  ['%%autocode growth -o a:int\nTotal.', '%%autocode growth --rename price=amount -o a:int\nTotal.'],
  ['%%autocode growth --rename price=amount\nTotal.', '%%autocode growth --rename price=amount\nTotal.'],
  ['growth.run()', 'growth.run()']
])('lets a cell keep a function whose column has a new name', (source, renamed) => {
  expect(withWords(source, '--rename price=amount')).toBe(renamed);
});

it.each([
  ['--rename price=amount', true],
  ['--rename "net price=net amount" --rename a=b', true],
  ['--rename price=amount --allow-network', false],
  ['--rename price=amount\n%autocode trust', false],
  ['--model evil/model', false],
  ['', false]
])('adds no other option by the button of an output', (options, may) => {
  expect(mayBeAdded(options)).toBe(may);
});
