import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';

import type { Settings } from '../link/tokens';
import { VOCABULARY } from '../vocabulary';

/** The values that are set on the settings page. An empty field is not set; the kernel then uses other sources. */
export function setValues(read: (name: string) => ReadonlyPartialJSONValue | undefined): Settings {
  const values: { [name: string]: string | number } = {};
  for (const name of VOCABULARY.page ?? []) {
    const value = read(name);
    if (typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')) {
      values[name] = typeof value === 'string' ? value.trim() : value;
    }
  }
  return values;
}
