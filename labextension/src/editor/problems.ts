import type { ICellProblem } from '../link/tokens';
import type { ICell } from './cell';
import type { IRange } from './words';

/** A problem of a cell and its range. */
export interface IProblem extends IRange {
  severity: ICellProblem['severity'];
  what: string;
  hint: string;
  /** A replacement text. */
  instead?: string;
}

/**
 * The problems that the page finds itself, for a kernel that is busy or has ended.
 *
 * These are the errors that `highlight` shows, and an extension that is not loaded in the kernel. The kernel checks all
 * other rules (`magics/problems.py`).
 *
 * @param absent whether the kernel runs without the extension
 */
export function ownProblems({ command, given, unclosed }: ICell, absent: boolean): IProblem[] {
  const error = { severity: 'error' as const, hint: '' };
  if (unclosed !== null) {
    return [{ ...unclosed, ...error, what: 'This quote is not closed.' }];
  }
  if (given.some(({ option, joined }) => option?.name === 'help' && !joined)) {
    return [];
  }
  const hint = 'Run a cell with %load_ext autocoder_jupyter first.';
  const what = 'autocoder_jupyter is not loaded in this kernel.';
  return [
    ...(absent ? [{ ...command, severity: 'warning' as const, what, hint }] : []),
    ...given
      .filter(({ option }) => option === null)
      .map(({ at, flag }) => ({ ...at, ...error, what: `There is no option ${flag}.` }))
  ];
}

/** The problems from the kernel with their ranges in the cell. */
export function placed(said: readonly ICellProblem[], cell: ICell): IProblem[] {
  return said.map(problem => {
    const { severity, what, hint, instead } = problem;
    return { ...placeOf(problem, cell), severity, what, hint, instead: instead || undefined };
  });
}

function placeOf({ area, word, start, end }: ICellProblem, cell: ICell): IRange {
  const { command, request, requestFrom, unclosed, words } = cell;
  const found = words[word];
  if (area === 'request') {
    return within(request, requestFrom, start, end);
  }
  if (area === 'quote' && unclosed !== null) {
    return unclosed;
  }
  if (area !== 'word' || found === undefined) {
    return command;
  }
  return found.start === null ? found : within(found.text, found.start, start, end);
}

/** The part of a text that begins at `from` in the cell; Python counts characters, an editor UTF-16 units. */
function within(text: string, from: number, start: number, end: number | null): IRange {
  const characters = [...text];
  const units = (count: number): number => characters.slice(0, count).join('').length;
  return { from: from + units(start), to: from + (end === null ? text.length : units(end)) };
}
