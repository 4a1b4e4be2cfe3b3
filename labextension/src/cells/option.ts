import { parseCell } from '../editor/cell';
import type { IVocabulary } from '../vocabulary';

/** The text of a `%%autocode` cell with a new value for an option; `null` if that is not possible. */
export function withOption(source: string, name: string, value: string, vocabulary: IVocabulary): string | null {
  const cell = parseCell(source, vocabulary);
  const flag = flagOf(name, vocabulary);
  if (cell === null || flag === null || cell.unclosed !== null) {
    return null;
  }
  const last = cell.given.filter(({ option, value }) => option?.name === name && value !== null).at(-1)?.value;
  if (last) {
    return source.slice(0, last.from) + value + source.slice(last.to);
  }
  const after = cell.positional[0]?.to ?? cell.command.to;
  return `${source.slice(0, after)} ${flag} ${value}${source.slice(after)}`;
}

/** The flag of an option; `null` if it is not an option of cells. */
export function flagOf(name: string, vocabulary: IVocabulary): string | null {
  return vocabulary.options.find(option => option.name === name)?.flags.at(-1) ?? null;
}

/** The text of a `%%autocode` cell with `--refine` in its first line. */
export function refining(source: string): string {
  return source.replace(/^(\s*%%autocode[ \t]+\S+)(?![^\n]*--refine\b)/, '$1 --refine');
}
