import type { ICell } from './cell';
import { values } from './declarations';
import type { IProblem } from './problems';
import { isIdentifier, isKeyword, repr } from './python';
import type { IRange } from './words';

/** What `--mode`, `--tool` and `--continue` may say; the same rules as `magics/codemode/reading.py`. */
export function modeProblems(cell: ICell): IProblem[] {
  return [...foreignOptions(cell), ...toolProblems(cell), ...continuedProblems(cell)];
}

function foreignOptions(cell: ICell): IProblem[] {
  const usual = values(cell, 'continue').length ? 'tools' : 'function';
  const mode = values(cell, 'mode')[0]?.text ?? usual;
  return cell.given.flatMap(({ at, option }) => {
    if (!option?.modes || option.modes.includes(mode)) {
      return [];
    }
    const [flag] = option.flags;
    return mode === 'tools'
      ? [error(at, `${flag} is about a function, and --mode tools makes none.`, 'Leave it out.')]
      : [error(at, `${flag} needs --mode tools.`, 'Add --mode tools, or leave it out.')];
  });
}

function toolProblems(cell: ICell): IProblem[] {
  const tools = values(cell, 'tool').map(at => ({ at, ...readTool(at.text) }));
  const unnamed = tools
    .filter(({ parts }) => !parts.every(part => isIdentifier(part) && !isKeyword(part)))
    .map(({ at }) => {
      const hint = 'Write --tool NAME or --tool ALIAS=NAME.';
      return error(at, `--tool ${repr(at.text)} is not the name of a function.`, hint);
    });
  const twice = tools
    .filter(({ alias }, index) => tools.findIndex(other => other.alias === alias) < index)
    .map(({ at, alias }) => {
      const hint = 'Keep one, or rename one: --tool ALIAS=NAME.';
      return error(at, `--tool names ${repr(alias)} twice.`, hint);
    });
  return [...unnamed, ...twice];
}

function readTool(text: string): { alias: string; parts: string[] } {
  const equals = text.indexOf('=');
  const before = (equals === -1 ? text : text.slice(0, equals)).trim();
  const named = (equals === -1 ? before : text.slice(equals + 1).trim()).split('.');
  const alias = equals === -1 ? named[named.length - 1] : before;
  return { alias, parts: [...named, alias] };
}

function continuedProblems(cell: ICell): IProblem[] {
  const own = cell.positional[0]?.text;
  return values(cell, 'continue').flatMap(at => {
    if (!isIdentifier(at.text)) {
      return [error(at, `${repr(at.text)} cannot be the name of a conversation.`, 'Write --continue NAME.')];
    }
    return at.text === own ? [error(at, `${own} cannot continue itself.`, 'Give the cell a name of its own.')] : [];
  });
}

function error({ from, to }: IRange, what: string, hint: string): IProblem {
  return { from, to, severity: 'error', what, hint };
}
