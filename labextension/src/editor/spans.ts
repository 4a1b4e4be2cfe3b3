import type { IVariable } from '../link/tokens';
import type { ICell } from './cell';
import { brought, readDeclaration } from './declarations';
import type { IRange } from './words';

/** The kind of a part of a cell. */
export type Part = 'command' | 'name' | 'option' | 'wrong' | 'value' | 'type' | 'reference' | 'known' | 'unknown';

/** A part of a cell with its own colour. */
export interface ISpan extends IRange {
  part: Part;
}

/** The parts of a cell; a type lies within its value. `variables` is `null` if they are unknown. */
export function partsOf(cell: ICell, variables: readonly IVariable[] | null): ISpan[] {
  const known = variables === null ? null : new Set([...variables.map(({ name }) => name), ...brought(cell)]);
  return [
    span(cell.command, 'command'),
    ...cell.positional.slice(0, 1).map(word => span(word, 'name')),
    ...cell.given.flatMap(({ at, option, value }) => [
      span(at, option === null ? 'wrong' : 'option'),
      ...(value === null ? [] : [span(value, 'value')]),
      ...(value !== null && (option?.name === 'output' || option?.name === 'input') ? typeOf(value) : [])
    ]),
    ...(cell.unclosed === null ? [] : [span(cell.unclosed, 'value')]),
    ...cell.references.map(at => span(at, known === null ? 'reference' : known.has(at.name) ? 'known' : 'unknown'))
  ].filter(({ from, to }) => to > from);
}

function typeOf(value: Parameters<typeof readDeclaration>[0]): ISpan[] {
  const at = readDeclaration(value)?.typeAt ?? null;
  return at === null ? [] : [span(at, 'type')];
}

function span({ from, to }: IRange, part: Part): ISpan {
  return { from, to, part };
}
