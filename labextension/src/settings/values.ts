import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';

import type { Settings } from '../link/tokens';
import { VOCABULARY } from '../vocabulary';

/** The values that are set on the settings page. An empty field is not set; the kernel then uses other sources. */
export function setValues(read: (name: string) => ReadonlyPartialJSONValue | undefined): Settings {
  const values: { [name: string]: Settings[string] } = {};
  for (const name of VOCABULARY.page ?? []) {
    const value = read(name);
    const parts = Object.entries(typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {});
    const set = parts.flatMap(([part, value]) => (isSet(value) ? [[part, value] as const] : []));
    if (isSet(value)) {
      values[name] = typeof value === 'string' ? value.trim() : value;
    } else if (set.length > 0) {
      values[name] = Object.fromEntries(set);
    }
  }
  return values;
}

function isSet(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && value.trim() !== '');
}
