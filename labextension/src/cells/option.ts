import { parseCell } from '../editor/cell';
import type { IVocabulary } from '../vocabulary';

/** The text of a `%%autocode` cell with another value for an option; `null` where it cannot have one. */
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

/** How an option is written in a cell; `null` when it is none of a cell's. */
export function flagOf(name: string, vocabulary: IVocabulary): string | null {
  return vocabulary.options.find(option => option.name === name)?.flags.at(-1) ?? null;
}

/** The text of a `%%autocode` cell with `--refine` in its first line. */
export function refining(source: string): string {
  return source.replace(/^(\s*%%autocode[ \t]+\S+)(?![^\n]*--refine\b)/, '$1 --refine');
}
