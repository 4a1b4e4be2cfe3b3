import reserved from './python.json';

const KEYWORDS = new Set(reserved.keywords);
const BUILTINS = new Set(reserved.builtins);

/** Whether Python takes this for a name, keywords included. */
export function isIdentifier(text: string): boolean {
  return /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(text);
}

/** Whether this is a keyword of Python. */
export function isKeyword(text: string): boolean {
  return KEYWORDS.has(text);
}

/** Whether Python itself has a value of this name. */
export function isBuiltin(text: string): boolean {
  return BUILTINS.has(text);
}

/** A text as Python shows it in an error. */
export function repr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/\t/g, '\\t').replace(/\r/g, '\\r');
  return quote + (quote === "'" ? escaped.replace(/'/g, "\\'") : escaped) + quote;
}
