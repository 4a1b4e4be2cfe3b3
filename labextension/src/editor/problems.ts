import type { IVariable } from '../link/tokens';
import type { IVocabulary } from '../vocabulary';
import type { ICell } from './cell';
import { byFlag } from './cell';
import { bareType, brought, declaredNames, readDeclaration, readSample, values } from './declarations';
import { modeProblems } from './modes';
import { isBuiltin, isIdentifier, isKeyword, repr } from './python';
import { didYouMean } from './suggestions';
import type { IKnown } from './knowledge';
import type { Parser } from './values';
import { brokenExpression, expects, wrongValue } from './values';
import type { IRange, IWord } from './words';

/**
 * Something that the kernel would refuse, found before it is asked; in the kernel's words.
 *
 * `error`: it cannot work. `warning`: it cannot work with the data as they are now. `info`: something is still missing.
 */
export interface IProblem extends IRange {
  severity: 'error' | 'warning' | 'info';
  what: string;
  hint: string;
  /** A text that could stand in its place. */
  instead?: string;
}

/**
 * What is wrong with a cell, in the order in which the kernel would notice; after it, what it would hint at.
 *
 * @param python reads expressions; `null` as long as it is not loaded
 */
export function findProblems(cell: ICell, text: string, known: IKnown, python: Parser | null): IProblem[] {
  const { vocabulary, variables, others, absent } = known;
  if (cell.unclosed !== null) {
    return [unclosedQuote(cell.unclosed, text)];
  }
  if (cell.given.some(given => given.option?.name === 'help' && !given.joined)) {
    return [];
  }
  return [
    ...(absent ? [notLoaded(cell)] : []),
    ...optionProblems(cell, vocabulary),
    ...nameProblems(cell),
    ...requestProblems(cell),
    ...declarationProblems(cell, vocabulary),
    ...sampleProblems(cell),
    ...contractProblems(cell),
    ...modeProblems(cell),
    ...expressionProblems(cell, python),
    ...doubledNames(cell),
    ...(variables === null
      ? []
      : [
          ...takenName(cell, variables, others),
          ...unknownData(cell, variables, others),
          ...forgottenMarks(cell, variables)
        ])
  ];
}

function error(at: IRange, what: string, hint = '', instead?: string): IProblem {
  return { from: at.from, to: at.to, severity: 'error', what, hint, instead };
}

function unclosedQuote(at: IRange, text: string): IProblem {
  const opened = [...text.slice(at.from, at.to)].slice(0, 30).join('');
  return error(
    at,
    `The quote that opens at ${repr(opened)} is not closed.`,
    'Write values with blanks or apostrophes in double quotes: -c "isn\'t empty".'
  );
}

function optionProblems(cell: ICell, vocabulary: IVocabulary): IProblem[] {
  const flags = byFlag(vocabulary);
  const seen = new Set<string>();
  return cell.given.flatMap(({ flag, at, option, value, joined }) => {
    if (option === null) {
      const hint = didYouMean(flag, flags.keys());
      return [error(at, `There is no option ${flag}.`, hint, offered(hint))];
    }
    if (seen.has(option.name) && !option.repeatable) {
      return [error(at, `${flag} is given twice.`, 'Keep one of them.')];
    }
    seen.add(option.name);
    if (!option.takes_value) {
      return joined ? [error(at, `${flag} takes no value.`)] : [];
    }
    if (value === null) {
      return [error(at, `${flag} needs a value.`, `Write ${flag} ${option.placeholder || expects(option)}.`)];
    }
    if (wrongValue(option, value.text)) {
      const hint = option.choices.length > 0 ? didYouMean(value.text, option.choices) : '';
      const what = `${flag} takes ${expects(option)}, not ${repr(value.text)}.`;
      return [error(value, what, hint, offered(hint))];
    }
    return [];
  });
}

function notLoaded({ command }: ICell): IProblem {
  const hint = 'Run a cell with %load_ext autocoder_jupyter first.';
  return { ...command, severity: 'warning', what: 'autocoder_jupyter is not loaded in this kernel.', hint };
}

/** What a hint offers, as a text to put in. */
function offered(hint: string): string | undefined {
  return /^Did you mean (.*)\?/.exec(hint)?.[1];
}

function nameProblems({ command, given, positional: [name, ...rest] }: ICell): IProblem[] {
  if (name === undefined) {
    const hint = 'Write %%autocode NAME, then say below what you need.';
    return [{ ...command, severity: 'info', what: 'The cell has no name.', hint }];
  }
  if (!isIdentifier(name.text)) {
    return [error(name, `${repr(name.text)} cannot be the name of a variable.`, 'Write %%autocode NAME [options].')];
  }
  if (isKeyword(name.text) || isBuiltin(name.text)) {
    const kind = isKeyword(name.text) ? 'a keyword' : 'a builtin';
    const hint = `Call it ${name.text}_ or something of its own.`;
    return [error(name, `${repr(name.text)} is ${kind} of Python.`, hint, `${name.text}_`)];
  }
  const strayed = given.some(({ option }) => option === null); // then the word is probably that option's value
  if (rest.length > 0 && !strayed) {
    const hint = 'Put values with blanks in quotes, and the request below the first line.';
    return [error(rest[0], `${repr(rest[0].text)} on the first line belongs to no option.`, hint)];
  }
  return [];
}

function requestProblems({ command, request }: ICell): IProblem[] {
  if (request.trim() !== '') {
    return [];
  }
  const hint = 'Say below the first line, in words, what you need.';
  return [{ ...command, severity: 'info', what: 'The cell says nothing to build.', hint }];
}

function declarationProblems(cell: ICell, vocabulary: IVocabulary): IProblem[] {
  return [
    ...values(cell, 'output').flatMap(value => outputProblems(value, vocabulary)),
    ...values(cell, 'input').flatMap(value => typeProblems(value, '-i', vocabulary.input_types, vocabulary))
  ];
}

function outputProblems(value: IWord, vocabulary: IVocabulary): IProblem[] {
  const declaration = readDeclaration(value);
  const named = declaration !== null && isName(declaration.name, '-o');
  if (named && declaration.type !== null && declaration.default !== null) {
    return [error(value, `-o ${repr(value.text)} has a default, and an output cannot have one.`)];
  }
  return typeProblems(value, '-o', vocabulary.types, vocabulary);
}

/** Whether `-o` or `-i` can declare this; an output that is a file may have its suffix in the name. */
function isName(name: string, flag: string): boolean {
  const bare = flag === '-o' ? name.replace(/(?:\.[A-Za-z0-9_]+)+$/, '') : name;
  return isIdentifier(bare) && !isKeyword(bare);
}

function typeProblems(value: IWord, flag: string, allowed: string[], vocabulary: IVocabulary): IProblem[] {
  const declaration = readDeclaration(value);
  if (declaration === null || !isName(declaration.name, flag)) {
    const shown = repr(declaration?.name || value.text);
    return [error(value, `${shown} in ${flag} ${repr(value.text)} cannot be a name.`, `Write ${flag} "name: type".`)];
  }
  const { name, type, typeAt } = declaration;
  if (type === null) {
    const hint = `Write ${flag} "${name}: DataFrame", for instance.`;
    return [error(value, `${flag} ${repr(value.text)} does not say a type.`, hint)];
  }
  const bare = bareType(type);
  if (allowed.includes(bare)) {
    return [];
  }
  if (vocabulary.types.includes(bare)) {
    return [error(typeAt ?? value, `${repr(name)} cannot be a ${bare}: that is a type of outputs only.`)];
  }
  const hint = didYouMean(bare, allowed);
  return [error(typeAt ?? value, `${repr(type)} is not a type that ${flag} knows.`, hint, offered(hint))];
}

function sampleProblems(cell: ICell): IProblem[] {
  return values(cell, 'sample').flatMap(value => {
    const { name, expression } = readSample(value);
    if (!isIdentifier(name) || isKeyword(name)) {
      const hint = 'Write -s NAME or -s NAME=EXPRESSION.';
      return [error(value, `-s ${repr(value.text)} does not begin with a name.`, hint)];
    }
    const nothing = `-s ${repr(value.text)} has no expression after the equals sign.`;
    return expression === '' ? [error(value, nothing)] : [];
  });
}

const CONTRACT = /^[^=]*[^=\s][^=]*=\s*@[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*\s*$/u;

function contractProblems(cell: ICell): IProblem[] {
  const hint = 'Write --contract NAME=@MODEL: an input or output, and the variable that holds the schema.';
  return values(cell, 'contract')
    .filter(value => !CONTRACT.test(value.text))
    .map(value => error(value, `--contract ${repr(value.text)} does not name a table and its schema.`, hint));
}

/** Of `--check`; what is not Python is an error before anything is asked. */
function expressionProblems(cell: ICell, python: Parser | null): IProblem[] {
  if (python === null) {
    return [];
  }
  return values(cell, 'check').flatMap(value => {
    const at = brokenExpression(python, value);
    const hint = 'Put it in quotes if it has blanks: --check "(monthly.revenue >= 0).all()".';
    return at === null ? [] : [error(at, `--check ${repr(value.text)} is not a Python expression.`, hint)];
  });
}

/** The name of something else of the notebook. */
function takenName(
  { given, positional: [name] }: ICell,
  variables: readonly IVariable[],
  others: IKnown['others']
): IProblem[] {
  const type =
    name === undefined ? undefined : (others[name.text] ?? variables.find(one => one.name === name.text)?.type);
  if (name === undefined || type === undefined || given.some(({ option }) => option?.name === 'replace')) {
    return [];
  }
  const what = `${repr(name.text)} is already a variable of the notebook (${type}).`;
  return [warning(name, what, 'Choose another name, or say --replace.')];
}

/** Data that the prose names like any other word; the same rules as `hints` in `magics/references.py`. */
function forgottenMarks(cell: ICell, variables: readonly IVariable[]): IProblem[] {
  const handed = new Set([...cell.references.map(({ name }) => name), ...brought(cell)]);
  const columns = variables.filter(({ name }) => handed.has(name)).flatMap(one => one.columns ?? []);
  const known = new Set([
    ...handed,
    ...columns.map(({ name }) => name),
    ...declaredNames(cell, 'output').map(({ name }) => name),
    cell.positional[0]?.text ?? ''
  ]);
  const words = [...cell.request.matchAll(WORD)].filter(({ 0: word }, index, all) => {
    const isFirst = all.findIndex(other => other[0] === word) === index;
    return isFirst && !known.has(word);
  });
  return words.flatMap(match => {
    const variable = variables.find(({ name }) => name === match[0]);
    if (variable === undefined) {
      return [];
    }
    const from = cell.requestFrom + match.index;
    const what = `${match[0]} is a ${variable.type} of the notebook, and the request does not hand it over.`;
    const instead = `@${match[0]}`;
    const at = { from, to: from + match[0].length };
    return [{ ...at, severity: 'info' as const, what, hint: `Write ${instead} if it means that.`, instead }];
  });
}

/** A word that could be a name: no single letter, no part of an address, nothing behind a dot. */
const WORD = /(?<![\p{L}\p{N}_@.])[A-Za-z_][\p{L}\p{N}_]+(?![\p{L}\p{N}_@])/gu;

function doubledNames(cell: ICell): IProblem[] {
  const outputs = declaredNames(cell, 'output');
  const inputs = declaredNames(cell, 'input');
  const samples = declaredNames(cell, 'sample');
  const groups = [
    { flag: '-o', named: outputs },
    { flag: '-i', named: inputs },
    { flag: '-s', named: samples }
  ];
  const twice = groups.flatMap(({ flag, named }) =>
    named
      .filter(({ name }, index) => name !== '' && named.findIndex(other => other.name === name) < index)
      .map(({ name, at }) => error(at, `${flag} names ${repr(name)} twice.`, 'Keep one of them.'))
  );
  const taken = new Set([...inputs, ...samples].map(({ name }) => name));
  const both = outputs
    .filter(({ name }) => name !== '' && taken.has(name))
    .map(({ name, at }) => error(at, `${repr(name)} is both an input and an output.`, 'Call the output differently.'));
  return [...twice, ...both];
}

function unknownData(cell: ICell, variables: readonly IVariable[], others: IKnown['others']): IProblem[] {
  const known = variables.map(variable => variable.name);
  const samples = values(cell, 'sample').map(at => ({ at, ...readSample(at) }));
  const elsewhere = new Set([...known, ...brought(cell)]);
  const mentioned = cell.references
    .filter(({ name }) => !elsewhere.has(name))
    .map(reference => {
      const type = others[reference.name];
      if (type !== undefined) {
        return noData(reference, type);
      }
      const offer = didYouMean(reference.name, known, '@');
      const what = `There is no ${repr(reference.name)} in the notebook, and the request refers to @${reference.name}.`;
      const hint = `${offer} An at sign that refers to nothing is written @@${reference.name}.`.trim();
      return warning(reference, what, hint, offered(offer));
    });
  const handed = samples
    .filter(({ expression }) => isIdentifier(expression) && !known.includes(expression))
    .map(({ at, name, expression }) => {
      const what = `-s ${name}: there is no ${repr(expression)} in the notebook.`;
      return warning(at, what, didYouMean(expression, known));
    });
  return [...mentioned, ...handed];
}

function noData(reference: IRange & { name: string }, type: string): IProblem {
  const { name } = reference;
  const what = `@${name} is ${/^[aeiou]/i.test(type) ? 'an' : 'a'} ${type}; a request can refer to ${REFERABLE}.`;
  const plain = ['bool', 'int', 'float', 'str'].includes(type);
  const declared = `-i "${name}: ${type}${plain ? ' = …' : ''}"`;
  const declarable = plain || type === 'list' || type === 'dict';
  const hint = plain
    ? `Declare it as an input, ${declared}, or write the value itself.`
    : declarable
      ? `Declare it as an input: ${declared}.`
      : '';
  return warning(reference, what, hint);
}

const REFERABLE = 'a DataFrame, a Series, File(…) or Dir(…)';

function warning(at: IRange, what: string, hint: string, instead?: string): IProblem {
  return { from: at.from, to: at.to, severity: 'warning', what, hint, instead };
}
