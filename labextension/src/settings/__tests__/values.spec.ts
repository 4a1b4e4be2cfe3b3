import { setValues } from '../values';

type Part = string | number | null;
const read = (page: { [name: string]: Part | { [part: string]: Part } }) => (name: string) => page[name];

it('gives only what is set', () => {
  expect(setValues(read({ model: '', sandbox: 'local', share: '', max_cost: null }))).toEqual({ sandbox: 'local' });
  expect(setValues(read({}))).toEqual({});
});

it('knows a budget of nothing from no budget', () => {
  expect(setValues(read({ max_cost: 0 }))).toEqual({ max_cost: 0 });
});

it('gives the backend and its limits', () => {
  const page = { backend: 'claude', agent_max_turns: 20, blind_tests: 'off' };
  expect(setValues(read(page))).toEqual(page);
});

it('leaves it to the kernel what is right', () => {
  expect(setValues(read({ model: ' openai/x ', max_cost: -1 }))).toEqual({ model: 'openai/x', max_cost: -1 });
});

it('gives of a dictionary only the parts that are set', () => {
  const free = { api_key: 'not-needed', input_cost_per_token: 0, output_cost_per_token: null };
  const set = { api_key: 'not-needed', input_cost_per_token: 0 };
  expect(setValues(read({ litellm_params: free }))).toEqual({ litellm_params: set });
  expect(setValues(read({ litellm_params: { api_key: '', input_cost_per_token: null } }))).toEqual({});
});
