/** A range of the text of a cell, in UTF-16 units. */
export interface IRange {
  from: number;
  to: number;
}

/** A word of the option lines; `text` is without the surrounding quotes. */
export interface IWord extends IRange {
  text: string;
  /** The offset of `text`, if it occurs in the cell exactly. */
  start: number | null;
}

/** The words of option lines, and the range from an unclosed quote on. */
export interface IWords {
  words: IWord[];
  unclosed: IRange | null;
}

/** A line of options and its offset in the cell. */
export interface ILine {
  text: string;
  from: number;
}

const QUOTED = '(?:"(?:[^"\\\\]|\\\\[^])*"|\'[^\']*\')';
const WORD = new RegExp(`\\s*((?:[^\\s"']|${QUOTED})+)`, 'y');
const WHOLLY_QUOTED = new RegExp(`^${QUOTED}$`);

/** The words of option lines, by the rules of `magics/command.py`: quotes inside a word stay and protect spaces. */
export function splitWords(lines: readonly ILine[]): IWords {
  const text = lines.map(line => line.text).join('\n');
  const place = placing(lines);
  const words: IWord[] = [];
  let position = 0;
  while (text.slice(position).trim() !== '') {
    WORD.lastIndex = position;
    const match = WORD.exec(text);
    const end = match === null ? position + text.slice(position).search(/\S/) : WORD.lastIndex;
    if (match === null || '"\''.includes(text.charAt(end) || ' ')) {
      return { words, unclosed: { from: place(end), to: place(text.length) } };
    }
    words.push(wordOf(match[1], end - match[1].length, place));
    position = end;
  }
  return { words, unclosed: null };
}

/** A word without the quotes around it. */
export function unquote(word: string): string {
  if (!WHOLLY_QUOTED.test(word)) {
    return word;
  }
  const inner = word.slice(1, -1);
  return word[0] === '"' ? inner.replace(/\\(["\\])/g, '$1') : inner;
}

function wordOf(raw: string, at: number, place: (index: number) => number): IWord {
  const text = unquote(raw);
  const start = raw.indexOf(text);
  return { text, start: start === -1 ? null : place(at + start), from: place(at), to: place(at + raw.length) };
}

/** Converts an index in the joined lines to an offset in the cell. */
function placing(lines: readonly ILine[]): (index: number) => number {
  return index => {
    let rest = index;
    for (const line of lines) {
      if (rest <= line.text.length) {
        return line.from + rest;
      }
      rest -= line.text.length + 1;
    }
    return index;
  };
}
