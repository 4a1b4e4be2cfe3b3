import { VOCABULARY } from '../../vocabulary';
import { withOption } from '../option';

const raised = (source: string): string | null => withOption(source, 'max_cost', '1', VOCABULARY);

it.each([
  ['%%autocode growth\nRevenue.', '%%autocode growth --max-cost 1\nRevenue.'],
  ['%%autocode growth --max-cost 0.5 -o "a: int"\nR.', '%%autocode growth --max-cost 1 -o "a: int"\nR.'],
  ['%%autocode growth\n--max-cost=0.5\nR.', '%%autocode growth\n--max-cost=1\nR.'],
  ['%%autocode growth --max-cost 0.5 --max-cost 2\nR.', '%%autocode growth --max-cost 0.5 --max-cost 1\nR.'],
  ['%%autocode growth -o "--max-cost 3: int"\nR.', '%%autocode growth --max-cost 1 -o "--max-cost 3: int"\nR.']
])('puts the value where the option stands, or behind the name', (source, expected) => {
  expect(raised(source)).toBe(expected);
});

it.each(['x = 1', '%%autocode growth -o "open\nR.'])('leaves alone what it does not understand', source => {
  expect(raised(source)).toBeNull();
});

it('knows no flag of a setting that cells do not have', () => {
  expect(withOption('%%autocode growth', 'max_seconds', '9', VOCABULARY)).toBeNull();
});
