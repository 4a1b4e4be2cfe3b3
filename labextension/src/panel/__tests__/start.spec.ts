import type { ISettingRegistry } from '@jupyterlab/settingregistry';

import type { IResults } from '../../results/tokens';
import { runCode } from '../runCode';
import type { IAnswers } from '../start';
import { Start } from '../start';
import SCHEMA from '../../../schema/plugin.json';

jest.mock('@jupyterlab/notebook', () => ({ NotebookActions: { run: jest.fn() } }));
jest.mock('../runCode', () => ({ runCode: jest.fn() }));

const NO_KEY = 'not-needed';

const saved: { [name: string]: unknown } = {};
const registry = {
  load: async () => ({ schema: SCHEMA, get: (name: string) => ({ composite: saved[name] }) }),
  set: async (_: string, name: string, value: unknown) => void (saved[name] = value)
};
const start = new Start({} as IResults, registry as unknown as ISettingRegistry);
const answers: IAnswers = {
  model: ' openai/ours ',
  key: 'OUR_KEY',
  address: ' https://models.example:8443/v1 ',
  noKey: false,
  prices: ['', ' ']
};

beforeEach(() => Object.keys(saved).forEach(name => delete saved[name]));

it('saves the address with the others, and reads it again', async () => {
  await start.save(answers);
  const shown = { model: 'openai/ours', api_key: 'OUR_KEY', api_base: 'https://models.example:8443/v1' };
  expect(saved).toEqual({ ...shown, litellm_params: {} });
  const read = await start.answers();
  expect(read).toEqual({ ...answers, model: 'openai/ours', address: answers.address.trim(), prices: ['', ''] });
  await start.save({ ...answers, address: '' });
  expect(saved.api_base).toBe('');
});

it('saves that no key is needed and the price of a token, as the schema has them, and reads them again', async () => {
  await start.save({ ...answers, noKey: true, prices: ['0', ' 0.15 '] });
  const { properties } = SCHEMA.properties.litellm_params;
  expect(Object.keys(saved.litellm_params as object).sort()).toEqual(Object.keys(properties).sort());
  expect(properties.api_key.oneOf.map(choice => choice.const)).toContain(NO_KEY);
  expect(saved.litellm_params).toMatchObject({
    api_key: NO_KEY,
    input_cost_per_token: 0,
    output_cost_per_token: 1.5e-7
  });
  expect(saved.api_key).toBe('');
  expect(await start.answers()).toMatchObject({ noKey: true, prices: ['0', '0.15'] });
});

it.each([
  ['0.15', ''],
  ['', '0'],
  ['-1', '1'],
  ['0,5', '1'],
  ['1e9', '1']
])('saves nothing if the prices are %s and %s', async (asked, answered) => {
  await expect(start.save({ ...answers, prices: [asked, answered] })).rejects.toThrow('Both prices must be numbers');
  expect(saved).toEqual({});
});

it.each(['localhost:8000', 'ftp://example.org', 'https://me:secret@example.org', 'sk-secret'])(
  'saves nothing if the address is %s, and does not repeat it',
  async address => {
    const refused: Error = await start.save({ ...answers, address }).then(
      () => new Error('saved'),
      error => error
    );
    expect(refused.message).toContain('must begin with http:// or https://');
    expect(refused.message).not.toContain('secret');
    expect(saved).toEqual({});
  }
);

it('sends the key with the settings of the model to the kernel, and saves it nowhere', async () => {
  const request = jest.fn().mockResolvedValue('✓');
  const link = { connected: true, request };
  const start = new Start({ notebook: {}, link } as unknown as IResults, registry as unknown as ISettingRegistry);
  expect(await start.test(answers, 'sk-mine', true)).toBe('✓');
  const values = {
    model: 'openai/ours',
    api_key: 'OUR_KEY',
    api_base: 'https://models.example:8443/v1',
    litellm_params: {}
  };
  expect(request).toHaveBeenCalledWith('try-model', '', { values, key: 'sk-mine', keep: true });
  expect(saved).toEqual({});
});

it('loads the extension before it tests a model', async () => {
  const link = { connected: false, request: async () => '✓' };
  jest.mocked(runCode).mockImplementation(async () => ((link.connected = true), ''));
  const results = { notebook: {}, link } as unknown as IResults;
  await new Start(results, registry as unknown as ISettingRegistry).test(answers, '', false);
  expect(jest.mocked(runCode).mock.calls.map(([, code]) => code)).toEqual(['%load_ext autocoder_jupyter']);
});

it('can test nothing without a notebook', async () => {
  const none = new Start(
    { notebook: null, link: null } as unknown as IResults,
    registry as unknown as ISettingRegistry
  );
  await expect(none.test(answers, '', false)).rejects.toThrow('Open a notebook first.');
});
