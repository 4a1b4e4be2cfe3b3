import type { IRange } from './words';

/** `@name` in the prose; the range includes the at sign. */
export interface IReference extends IRange {
  name: string;
}

/** Not in `me@example.org`, and not in `@@name`, which is how to write an at sign that refers to nothing. */
const REFERENCE = /(?<![\p{L}\p{N}_@])@([A-Za-z_][\p{L}\p{N}_]*)/gu;

/** Every mention, in order; `from` is where the prose begins in the cell. */
export function findReferences(prose: string, from: number): IReference[] {
  return [...prose.matchAll(REFERENCE)].map(match => ({
    name: match[1],
    from: from + match.index,
    to: from + match.index + match[0].length
  }));
}
