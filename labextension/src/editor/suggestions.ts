/**
 * One sentence that offers what was probably meant, else lists what there is; empty when there is nothing.
 *
 * The same as `magics/suggestions.py`, which compares by Python's difflib.
 */
export function didYouMean(word: string, known: Iterable<string>, mark = ''): string {
  const names = [...new Set(known)];
  const close = closest(word.toLowerCase(), new Map(names.map(name => [name.toLowerCase(), name])));
  if (close !== null) {
    return `Did you mean ${mark}${close}?`;
  }
  if (names.length === 0) {
    return '';
  }
  const shown = names.slice(0, 12).map(name => mark + name);
  return `There is ${shown.join(', ')}${names.length > 12 ? ' …' : ''}.`;
}

/** The name that is most like the word, if any is like it at all; between equals the one that sorts last. */
export function closest(word: string, names: ReadonlyMap<string, string>): string | null {
  let best: { ratio: number; folded: string; name: string } | null = null;
  for (const [folded, name] of names) {
    const ratio = likeness(folded, word);
    const better = best === null || ratio > best.ratio || (ratio === best.ratio && folded > best.folded);
    if (ratio >= 0.6 && better) {
      best = { ratio, folded, name };
    }
  }
  return best === null ? null : best.name;
}

/** Twice the letters in common over all letters, after Ratcliff and Obershelp. */
function likeness(a: string, b: string): number {
  return a.length + b.length === 0 ? 1 : (2 * inCommon(a, b)) / (a.length + b.length);
}

function inCommon(a: string, b: string): number {
  const { i, j, size } = longestCommon(a, b);
  if (size === 0) {
    return 0;
  }
  return size + inCommon(a.slice(0, i), b.slice(0, j)) + inCommon(a.slice(i + size), b.slice(j + size));
}

/** The longest text in both; of several the first in `a`, then the first in `b`. */
function longestCommon(a: string, b: string): { i: number; j: number; size: number } {
  let best = { i: 0, j: 0, size: 0 };
  let before = new Map<number, number>();
  for (let i = 0; i < a.length; i++) {
    const here = new Map<number, number>();
    for (let j = 0; j < b.length; j++) {
      if (a[i] === b[j]) {
        const size = (before.get(j - 1) ?? 0) + 1;
        here.set(j, size);
        if (size > best.size) {
          best = { i: i - size + 1, j: j - size + 1, size };
        }
      }
    }
    before = here;
  }
  return best;
}
