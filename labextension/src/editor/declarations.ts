import type { ICell } from './cell';
import type { IRange, IWord } from './words';

/** `name: type = default`, as `-o` and `-i` take it. */
export interface IDeclaration {
  name: string;
  /** The range of the type in the cell; `null` if it is unknown. */
  typeAt: IRange | null;
}

const DECLARATION = /^\s*([^:=]*?)\s*(?::\s*([^=]*?)\s*)?(?:=\s*([^]*?)\s*)?$/;

/** The parts of a declaration; `null` if the text is not a declaration. */
export function readDeclaration(word: IWord): IDeclaration | null {
  const match = DECLARATION.exec(word.text);
  if (match === null) {
    return null;
  }
  const type = match[2] || null;
  const start = type === null ? -1 : word.text.indexOf(type, word.text.indexOf(':'));
  const typeAt =
    type === null || word.start === null ? null : { from: word.start + start, to: word.start + start + type.length };
  return { name: match[1], typeAt };
}

/** The name in `name=expression`, as `-s` takes it. */
function nameOfSample({ text }: IWord): string {
  return text.split('=', 1)[0].trim();
}

/** The names of `-i` and `-s`, to which the request can refer. */
export function brought(cell: ICell): string[] {
  return cell.given.flatMap(({ option, value }) => {
    if (value === null || (option?.name !== 'input' && option?.name !== 'sample')) {
      return [];
    }
    return [option.name === 'sample' ? nameOfSample(value) : (readDeclaration(value)?.name ?? '')];
  });
}
