import type { IRange } from './words';

/** `@name` in the request; the range includes the at sign. */
export interface IReference extends IRange {
  name: string;
}

/** It does not match `me@example.org`, nor `@@name`, which stands for the text `@name`. */
const REFERENCE = /(?<![\p{L}\p{N}_@])@([A-Za-z_][\p{L}\p{N}_]*)/gu;

/** Every reference, in order; `from` is the offset of the request in the cell. */
export function findReferences(prose: string, from: number): IReference[] {
  return [...prose.matchAll(REFERENCE)].map(match => ({
    name: match[1],
    from: from + match.index,
    to: from + match.index + match[0].length
  }));
}
