import type { IVariable } from '../link/tokens';
import { freeName } from './template';

/** An error of a cell. All of it may come from a notebook that somebody else has saved. */
export interface IError {
  ename: string;
  evalue: string;
  traceback: readonly string[];
}

/** Limits in characters and lines: of the code, the message, and one line of the traceback. */
const MOST_CODE = 4000;
const MOST_WORDS = 500;
const MOST_LINE = 200;

/** How much of a traceback is read, from its end: entries, and characters of each. */
const MOST_FRAMES = 100;
const MOST_OF_FRAME = 5000;

const MOST_TABLES = 10;

/** Colours, and other commands for a terminal. */
const ANSI = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)/gs; // eslint-disable-line no-control-regex

/** What a person does not see, and a model reads: control, format and private characters, and variation selectors. */
const UNSEEN = /[^\P{C}\n\t]|[\u2028\u2029\p{Variation_Selector}]/gu;

/** An at sign that would refer to a variable. After other letters than these, a kernel may read it in another way. */
const REFERENCE = /(?<![A-Za-z0-9_@])@(?=[A-Za-z_])/g;

/** Strings and comments, line ends, and names: after a dot, and before an equals sign. */
const TOKENS =
  /#[^\n]*|[bfruBFRU]{0,2}(?:("""|''')[^]*?(?:\1|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|(\n)|(\.\s*)?([\p{XID_Start}_]\p{XID_Continue}*)([ \t]*=(?!=))?/gu;

/** The heading of a frame in a cell of the notebook, and of any frame. */
const CELL_FRAME = /^\s*(?:Cell In|Input In|<ipython-input)/;
const FRAME = /^\s*(?:Cell In|Input In|<ipython-input|File )/;

/**
 * The text of an `%%autocode` cell that asks for what failing code is meant to do.
 *
 * Code and error are indented below a first sentence, so no line of them is one of options, and they refer to no data.
 *
 * @param code the source of the cell that failed
 * @param variables the data of the notebook; those that the code reads are passed
 */
export function fixing(code: string, error: IError, names: readonly string[], variables: readonly IVariable[]): string {
  const tables = namesRead(code.slice(0, MOST_CODE), variables).map(name => `@${name}`);
  const data = tables.length === 0 ? '' : `, with ${tables.join(', ').replace(/, ([^,]*)$/, ' and $1')}`;
  return [
    `%%autocode ${freeName('fixed', names, variables)}`,
    `Do what this code is meant to do${data}.`,
    '',
    indented(cut(code, MOST_CODE)),
    '',
    'It stops with this error:',
    '',
    indented([cut(`${error.ename}: ${error.evalue}`, MOST_WORDS), ...lastFrame(error)].join('\n'))
  ].join('\n');
}

/** The data that code reads before it assigns them. */
function namesRead(code: string, variables: readonly IVariable[]): string[] {
  const known = new Set(variables.map(({ name }) => name));
  const [read, made] = [new Set<string>(), new Set<string>()];
  let assigned: string[] = [];
  let isAtStart = true;
  for (const [, , end, dot, name, equals] of code.matchAll(TOKENS)) {
    if (end) {
      assigned.forEach(name => made.add(name)); // `sales = sales.dropna()` reads it first
      assigned = [];
    } else if (name && !dot && equals && isAtStart) {
      assigned.push(name);
    } else if (name && !dot && !equals && known.has(name) && !made.has(name)) {
      read.add(name);
    }
    isAtStart = Boolean(end);
  }
  return [...read].slice(0, MOST_TABLES);
}

/** Where the code of the notebook stopped, or else the last frame: its heading and the line. */
function lastFrame({ traceback }: IError): string[] {
  const lines = traceback
    .slice(-MOST_FRAMES)
    .flatMap(frame => seen(frame.slice(0, MOST_OF_FRAME)).split('\n'))
    .map(line => cut(line, MOST_LINE));
  const [inCell, anywhere] = [CELL_FRAME, FRAME].map(kind => lines.map(line => kind.test(line)).lastIndexOf(true));
  const from = inCell === -1 ? anywhere : inCell;
  if (from === -1) {
    return [];
  }
  const behind = lines.slice(from + 1);
  const next = behind.findIndex(line => FRAME.test(line));
  const frame = next === -1 ? behind : behind.slice(0, next);
  const marked = frame.filter(line => /^-+>/.test(line));
  const heading = lines[from].trim().replace(/^File .*[\\/]/, 'File '); // folders of this machine say nothing
  return [heading, ...(marked.length > 0 ? marked : frame.slice(0, 1)).slice(0, 3)];
}

/** Text as a person sees it. */
function seen(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(ANSI, '').replace(UNSEEN, '');
}

/** Visible text of at most so many characters. */
function cut(text: string, most: number): string {
  const shown = seen(text.slice(0, 2 * most)).trimEnd();
  return shown.length > most || text.length > 2 * most ? `${shown.slice(0, most)} …` : shown;
}

function indented(text: string): string {
  return text
    .replace(REFERENCE, '@@')
    .split('\n')
    .map(line => (line.trim() === '' ? '' : `    ${line}`))
    .join('\n');
}
