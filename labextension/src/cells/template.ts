import type { IVariable } from '../link/tokens';

/** A `%%autocode` cell to begin with: a name that is free, and a sentence about the first table that there is. */
export function templateOf(names: readonly string[], variables: readonly IVariable[]): string {
  let name = 'result';
  for (let number = 2; names.includes(name) || variables.some(variable => variable.name === name); number++) {
    name = `result_${number}`;
  }
  const table = variables.find(({ type }) => type === 'DataFrame') ?? variables[0];
  return `%%autocode ${name}\nSay what you need${table ? ` from @${table.name}` : ''}, in your own words.`;
}
