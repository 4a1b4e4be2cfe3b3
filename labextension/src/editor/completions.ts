import type { IVariable } from '../link/tokens';
import type { IOption, IVocabulary } from '../vocabulary';
import { sizeOf } from './amounts';
import { byFlag, isAutocode } from './cell';
import { asText, describeOption, describeVariable } from './describe';

/** One completion. */
export interface ICompletion {
  text: string;
  /** Its kind, in a word or two. */
  kind: string;
  /** A description as plain text. */
  info: string;
}

/** The completions at the cursor of an `%%autocode` cell. */
export interface ICompletions {
  /** The start of the fragment that is replaced. */
  from: number;
  items: ICompletion[];
  /** Whether the kernel must be asked: for names of models, and of data that it has not sent yet. */
  kernelKnows: boolean;
}

const DECLARED_TYPE = /(?:^|\s)(-o|--output|-i|--input)(?:\s+|=)(?:["'][^"':]*|[^\s"':]+):\s*(\w*)$/;
const VALUE = /(?:^|\s)(--?[A-Za-z][\w-]*)(?:\s+|=)(?:\w+=)?([^\s"'=]*)$/;
const FLAG = /(?:^|\s)(--?[\w-]*)$/;
const REFERENCE = /(?<![\p{L}\p{N}_@])@[\p{L}\p{N}_]*$/u;
const OPTION_LINE = /^\s*--?(?:[A-Za-z]|$)/;

/** The completions at `offset`; `null` in other cells. The rules are those of `magics/completion.py`. */
export function complete(
  text: string,
  offset: number,
  vocabulary: IVocabulary,
  variables: readonly IVariable[] | null
): ICompletions | null {
  if (!isAutocode(text)) {
    return null;
  }
  const before = text.slice(text.search(/%%autocode/), offset).split('\n');
  const line = before[before.length - 1];
  const inHead = before.slice(1).every(other => OPTION_LINE.test(other));
  const found = (inHead ? inOptions(line, before, vocabulary, variables) : null) ?? reference(line, variables);
  return found === null ? { from: offset, items: [], kernelKnows: false } : { ...found, from: offset - found.length };
}

interface IFound extends Omit<ICompletions, 'from'> {
  /** The start of the fragment. */
  length: number;
}

function inOptions(
  line: string,
  before: string[],
  vocabulary: IVocabulary,
  variables: readonly IVariable[] | null
): IFound | null {
  const typed = DECLARED_TYPE.exec(line);
  if (typed !== null) {
    const types = typed[1] === '-o' || typed[1] === '--output' ? vocabulary.types : vocabulary.input_types;
    return among(typed[2], types.map(plain('type')));
  }
  const value = VALUE.exec(line);
  const option = value === null ? undefined : byFlag(vocabulary).get(value[1]);
  if (value !== null && option?.takes_value) {
    return valuesOf(option, value[2], variables);
  }
  const flag = FLAG.exec(line);
  if (flag !== null && (before.length > 1 || line.includes(' '))) {
    return among(flag[1], flags(before.join('\n').slice(0, -flag[1].length || undefined), vocabulary));
  }
  return null;
}

/** Options with values that only the kernel knows: models, functions, conversations, schemas. */
const KERNEL_KNOWS = new Set(['model', 'tool', 'continue', 'schema', 'contract']);

function valuesOf(option: IOption, fragment: string, variables: readonly IVariable[] | null): IFound {
  if (KERNEL_KNOWS.has(option.name)) {
    return { length: fragment.length, items: [], kernelKnows: true };
  }
  if (option.name === 'sample') {
    return data(fragment, variables);
  }
  return among(fragment, option.choices.map(plain('value')));
}

function reference(line: string, variables: readonly IVariable[] | null): IFound | null {
  const found = REFERENCE.exec(line);
  return found === null ? null : data(found[0], variables, '@');
}

/** The at sign is part of the fragment, because JupyterLab closes a menu for an empty fragment at the next letter. */
function data(fragment: string, variables: readonly IVariable[] | null, mark = ''): IFound {
  const items = (variables ?? []).map(variable => ({
    text: mark + variable.name,
    kind: unbroken(`${variable.type} ${sizeOf(variable)}`.trim()),
    info: asText(describeVariable(variable))
  }));
  return { ...among(fragment, items), kernelKnows: variables === null };
}

/** The flags that can still be added. */
function flags(written: string, vocabulary: IVocabulary): ICompletion[] {
  const options = byFlag(vocabulary);
  const spent = new Set([...written.matchAll(/(?<!\S)--?[A-Za-z][\w-]*/g)].map(match => options.get(match[0])));
  return [...options]
    .filter(([, option]) => !option.former && (option.repeatable || !spent.has(option)))
    .map(([text, option]) => ({ text, kind: kindOf(option), info: asText(describeOption(option)) }));
}

/** The placeholder after a flag, without spaces, because the menu of JupyterLab breaks lines at spaces. */
function kindOf(option: IOption): string {
  const value = option.placeholder.replace(/"/g, '') || option.choices.join('|');
  return unbroken(value || 'flag');
}

function unbroken(text: string): string {
  return text.replace(/ /g, '\u00a0');
}

function plain(kind: string): (text: string) => ICompletion {
  return text => ({ text, kind, info: '' });
}

function among(fragment: string, items: ICompletion[]): IFound {
  const fitting = items.filter(({ text }) => text.startsWith(fragment));
  return { length: fragment.length, items: fitting, kernelKnows: false };
}
