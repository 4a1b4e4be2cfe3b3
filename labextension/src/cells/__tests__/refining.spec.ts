import { refining } from '../option';

it.each([
  ['%%autocode growth -o a:int\nTotal.', '%%autocode growth --refine -o a:int\nTotal.'],
  ['\n%%autocode growth\nTotal --refine.', '\n%%autocode growth --refine\nTotal --refine.'],
  ['%%autocode growth --wait --refine\nTotal.', '%%autocode growth --wait --refine\nTotal.'],
  ['growth.run()', 'growth.run()']
])('lets a cell start from the function that is there', (source, refined) => {
  expect(refining(source)).toBe(refined);
});
