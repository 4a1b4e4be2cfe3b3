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

/** The text of a `%%autocode` cell with options in its first line, unless they are there. */
export function withWords(source: string, options: string): string {
  const [head] = /^\s*%%autocode[ \t]+\S+/.exec(source) ?? [];
  if (head === undefined) {
    return source;
  }
  const [line] = source.slice(head.length).split('\n', 1);
  return ` ${line} `.includes(` ${options} `) ? source : `${head} ${options}${source.slice(head.length)}`;
}

/** Whether a button of an output may add these options to its cell: only renamed columns, because a click runs it. */
export function mayBeAdded(options: string): boolean {
  return /^--rename (?:"[^"\n]+"|[^\s"]+)(?: --rename (?:"[^"\n]+"|[^\s"]+))*$/.test(options);
}
