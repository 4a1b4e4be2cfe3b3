import type { Language } from '@codemirror/language';

import type { IOption } from '../vocabulary';
import type { IRange, IWord } from './words';

/** Reads a programming language. */
export type Parser = Language['parser'];

const WHOLE = /^\s*[+-]?\d+(_\d+)*\s*$/;
const NUMBER = /^\s*[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+(_\d+)*)?\s*$/i;
const SIZE = /^\s*(\d+(\.\d*)?|\.\d+)\s*([KMGT]i|[kKMGT])?B?\s*$/;
const VERSION = /^3\.\d{1,2}$/;

/** What a value of an option looks like, in words. */
export function expects(option: IOption): string {
  return option.choices.length > 0 ? option.choices.join(' or ') : (option.expects ?? option.placeholder);
}

/** Whether an option cannot have this value, by the rules of `Option.from_text` in `magics/options.py`. */
export function wrongValue(option: IOption, text: string): boolean {
  switch (option.kind) {
    case 'choice':
      return !option.choices.includes(text);
    case 'integer':
      return !WHOLE.test(text) || isBelow(option, text);
    case 'number':
      return !NUMBER.test(text) || isBelow(option, text);
    case 'size':
      return !SIZE.test(text);
    case 'version':
      return !VERSION.test(text);
    case 'text':
      return text.trim() === '';
    default:
      return false;
  }
}

function isBelow({ minimum }: IOption, text: string): boolean {
  return typeof minimum === 'number' && Number(text.replace(/_/g, '')) < minimum;
}

/** Where a word is no Python expression, as far as that can be placed in the cell; `null` when it is one. */
export function brokenExpression(python: Parser, word: IWord): IRange | null {
  const source = `(${word.text.trim()})`;
  const tree = python.parse(source);
  let broken: number | null = null;
  tree.iterate({
    enter: node => {
      if (node.type.isError) {
        broken ??= node.from - 1;
      }
    }
  });
  const statement = tree.topNode.firstChild;
  const single = statement?.name === 'ExpressionStatement' && statement.nextSibling === null;
  const inner = statement?.firstChild?.name;
  const isOne = single && (inner === 'ParenthesizedExpression' || inner === 'TupleExpression');
  if (broken === null && isOne && word.text.trim() !== '') {
    return null;
  }
  if (broken === null || word.start === null) {
    return { from: word.from, to: word.to };
  }
  const at = word.start + Math.min(Math.max(broken, 0), Math.max(word.text.length - 1, 0));
  return { from: at, to: Math.min(at + 1, word.to) };
}
