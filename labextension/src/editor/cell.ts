import type { IOption, IVocabulary } from '../vocabulary';
import type { IReference } from './references';
import { findReferences } from './references';
import type { ILine, IRange, IWord } from './words';
import { splitWords, unquote } from './words';

/** A flag of a cell and its value. */
export interface IGiven {
  /** As written: `-o`, or `--outputs`, which does not exist. */
  flag: string;
  at: IRange;
  /** The option of the flag; `null` if there is no such option. */
  option: IOption | null;
  /** `null` without a value. */
  value: IWord | null;
  /** Whether the value is joined by an equals sign: `--share=rows`. */
  joined: boolean;
}

/** A parsed `%%autocode` cell. The rules are those of `magics/command.py`; a shared table of cases tests both. */
export interface ICell {
  /** `%%autocode` itself. */
  command: IRange;
  /** All words of the options, in order. */
  words: IWord[];
  /** The words without a flag; the first is the name. */
  positional: IWord[];
  given: IGiven[];
  /** The range from an open quote on; the options in it are not parsed. */
  unclosed: IRange | null;
  /** The lines of options, the first included. */
  head: IRange;
  prose: IRange;
  request: string;
  /** The offset of `request` in the cell. */
  requestFrom: number;
  references: IReference[];
}

const COMMAND = /^(?:\s*\n)?(%%autocode)(?= |[^\S\n]*(?:\n|$))/;
const OPTION_LINE = /^\s*--?[A-Za-z]/;
const FLAG = /^--?[A-Za-z]/;

/** Whether a cell is an `%%autocode` cell, by its first line. */
export function isAutocode(text: string): boolean {
  return COMMAND.test(text);
}

/** Parse a cell; `null` if it is not an `%%autocode` cell. */
export function parseCell(text: string, vocabulary: IVocabulary): ICell | null {
  const match = COMMAND.exec(text);
  if (match === null) {
    return null;
  }
  const to = match[0].length;
  const lines = linesFrom(text, to);
  const count = 1 + countWhile(lines.slice(1), line => OPTION_LINE.test(line.text));
  const headEnd = lines[count - 1].from + lines[count - 1].text.length;
  const { words, unclosed } = splitWords(lines.slice(0, count).map(stripped));
  const prose = { from: Math.min(headEnd + 1, text.length), to: text.length };
  return {
    command: { from: to - match[1].length, to },
    words,
    ...readArguments(words, vocabulary),
    unclosed,
    head: { from: 0, to: headEnd },
    prose,
    request: text.slice(prose.from).replace(/^\n+|\n+$/g, ''),
    requestFrom: prose.from + (/^\n+/.exec(text.slice(prose.from))?.[0].length ?? 0),
    references: findReferences(text.slice(prose.from), prose.from)
  };
}

/** The options of a vocabulary by flag. */
export function byFlag(vocabulary: IVocabulary): Map<string, IOption> {
  return new Map(vocabulary.options.flatMap(option => option.flags.map(flag => [flag, option] as const)));
}

function readArguments(words: readonly IWord[], vocabulary: IVocabulary): Pick<ICell, 'positional' | 'given'> {
  const flags = byFlag(vocabulary);
  const positional: IWord[] = [];
  const given: IGiven[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index];
    const equals = word.text.indexOf('=');
    const flag = equals === -1 ? word.text : word.text.slice(0, equals);
    if (!FLAG.test(word.text) || flag.includes(' ')) {
      positional.push(word);
      continue;
    }
    const option = flags.get(flag) ?? null;
    const from = word.start ?? word.from;
    const at = { from, to: from + flag.length };
    if (equals !== -1) {
      given.push({ flag, at, option, value: joinedValue(word, equals), joined: true });
    } else if (option?.takes_value && index + 1 < words.length && !flags.has(words[index + 1].text)) {
      given.push({ flag, at, option, value: words[++index], joined: false });
    } else {
      given.push({ flag, at, option, value: null, joined: false });
    }
  }
  return { positional, given };
}

function joinedValue(word: IWord, equals: number): IWord {
  const raw = word.text.slice(equals + 1);
  const text = unquote(raw);
  const from = (word.start ?? word.from) + equals + 1;
  return { text, start: from + raw.indexOf(text), from, to: word.to };
}

/** The lines of the cell from an offset on; the first is the rest of the first line. */
function linesFrom(text: string, from: number): ILine[] {
  let at = from;
  return text
    .slice(from)
    .split('\n')
    .map(line => {
      const found = { text: line, from: at };
      at += line.length + 1;
      return found;
    });
}

function stripped({ text, from }: ILine): ILine {
  return { text: text.trim(), from: from + text.length - text.trimStart().length };
}

function countWhile<T>(values: readonly T[], holds: (value: T) => boolean): number {
  const end = values.findIndex(value => !holds(value));
  return end === -1 ? values.length : end;
}
