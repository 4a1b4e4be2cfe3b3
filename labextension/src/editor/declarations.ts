import type { ICell } from './cell';
import type { IRange, IWord } from './words';

/** `name: type = default`, as `-o` and `-i` take it. */
export interface IDeclaration {
  name: string;
  type: string | null;
  default: string | null;
  /** Where the type stands in the cell; `null` when it cannot be told. */
  typeAt: IRange | null;
}

const DECLARATION = /^\s*([^:=]*?)\s*(?::\s*([^=]*?)\s*)?(?:=\s*([^]*?)\s*)?$/;

/** The parts of a declaration; `null` when it is none. */
export function readDeclaration(word: IWord): IDeclaration | null {
  const match = DECLARATION.exec(word.text);
  if (match === null) {
    return null;
  }
  const type = match[2] || null;
  const start = type === null ? -1 : word.text.indexOf(type, word.text.indexOf(':'));
  const typeAt =
    type === null || word.start === null ? null : { from: word.start + start, to: word.start + start + type.length };
  return { name: match[1], type, default: match[3] ?? null, typeAt };
}

/** What a list or a dict with text keys may hold: other such, and plain values. */
const ELEMENTS = /^(list|dict)\[(?:str|int|float|bool|list|dict|None|[\s|,[\]])+\]$/;

/** A type without the module that some write before it (`pd.DataFrame`), and without its elements (`list[str]`). */
export function bareType(type: string): string {
  const bare = ['pd.', 'datetime.', 'dt.'].reduce(
    (rest, prefix) => (rest.startsWith(prefix) ? rest.slice(prefix.length) : rest),
    type
  );
  return ELEMENTS.exec(bare)?.[1] ?? bare;
}

/** `name=expression`, as `-s` takes it; without an expression it is the variable of that name. */
export function readSample(word: IWord): { name: string; expression: string } {
  const equals = word.text.indexOf('=');
  const name = (equals === -1 ? word.text : word.text.slice(0, equals)).trim();
  return { name, expression: equals === -1 ? name : word.text.slice(equals + 1).trim() };
}

/** What a cell gives to the option of this name, in order. */
export function values(cell: ICell, option: string): IWord[] {
  return cell.given.flatMap(given => (given.option?.name === option && given.value !== null ? [given.value] : []));
}

/** The names that `-o`, `-i` or `-s` declare, and where. */
export function declaredNames(cell: ICell, option: 'output' | 'input' | 'sample'): { name: string; at: IWord }[] {
  return values(cell, option).map(at => {
    const name = option === 'sample' ? readSample(at).name : (readDeclaration(at)?.name ?? '');
    return { name, at };
  });
}

/** The names that the cell itself brings for its prose to refer to. */
export function brought(cell: ICell): string[] {
  return [...declaredNames(cell, 'input'), ...declaredNames(cell, 'sample')].map(({ name }) => name);
}
