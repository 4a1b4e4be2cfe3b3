import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';

import type { Settings } from '../link/tokens';

/** The settings that the page of settings offers. */
export const NAMES = [
  'model',
  'backend',
  'agent_max_turns',
  'blind_tests',
  'api_key',
  'sandbox',
  'share',
  'max_cost'
] as const;

/** What is set of them; an empty field is unset, and the kernel then looks elsewhere. */
export function setValues(read: (name: string) => ReadonlyPartialJSONValue | undefined): Settings {
  const values: { [name: string]: string | number } = {};
  for (const name of NAMES) {
    const value = read(name);
    if (typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')) {
      values[name] = typeof value === 'string' ? value.trim() : value;
    }
  }
  return values;
}
