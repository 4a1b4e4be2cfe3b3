/** A stretch of the cell's text, in UTF-16 units from its beginning. */
export interface IRange {
  from: number;
  to: number;
}

/** A word of the option lines; `text` is without the quotes around it. */
export interface IWord extends IRange {
  text: string;
  /** Where `text` begins, when it stands in the cell letter by letter. */
  start: number | null;
}

/** The words of option lines, and where a quote opens that is never closed. */
export interface IWords {
  words: IWord[];
  unclosed: IRange | null;
}

/** A line of options and where it begins in the cell. */
export interface ILine {
  text: string;
  from: number;
}

const QUOTED = '(?:"(?:[^"\\\\]|\\\\[^])*"|\'[^\']*\')';
const WORD = new RegExp(`\\s*((?:[^\\s"']|${QUOTED})+)`, 'y');
const WHOLLY_QUOTED = new RegExp(`^${QUOTED}$`);

/** The words of option lines, by the rules of `magics/arguments.py`: quotes inside a word stay and protect blanks. */
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

/** A word without the quotes that are around all of it. */
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

/** From an index in the joined lines to one in the cell. */
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
