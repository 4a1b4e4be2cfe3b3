import type { ISettingRegistry } from '@jupyterlab/settingregistry';

import type { IResults } from '../../results/tokens';
import { Start } from '../start';
import SCHEMA from '../../../schema/plugin.json';

jest.mock('@jupyterlab/notebook', () => ({}));

const saved: { [name: string]: unknown } = {};
const registry = {
  load: async () => ({ schema: SCHEMA, get: (name: string) => ({ composite: saved[name] }) }),
  set: async (_: string, name: string, value: unknown) => void (saved[name] = value)
};
const start = new Start({} as IResults, registry as unknown as ISettingRegistry);
const answers = { model: ' openai/ours ', key: 'OUR_KEY', address: ' https://models.example:8443/v1 ' };

beforeEach(() => Object.keys(saved).forEach(name => delete saved[name]));

it('saves the address with the others, and reads it again', async () => {
  await start.save(answers);
  expect(saved).toEqual({ model: 'openai/ours', api_key: 'OUR_KEY', api_base: 'https://models.example:8443/v1' });
  expect(await start.answers()).toEqual({ ...answers, model: 'openai/ours', address: answers.address.trim() });
  await start.save({ ...answers, address: '' });
  expect(saved.api_base).toBe('');
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
