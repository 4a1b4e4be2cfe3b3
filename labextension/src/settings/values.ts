import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';

import type { Settings } from '../link/tokens';
import { VOCABULARY } from '../vocabulary';

/** What is set of all that the page of settings offers; an empty field is unset, and the kernel then looks elsewhere. */
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
