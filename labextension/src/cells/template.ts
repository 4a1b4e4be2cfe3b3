import type { IVariable } from '../link/tokens';

/** The text of a new `%%autocode` cell: a free name, and a sentence about the first table, if there is one. */
export function templateOf(names: readonly string[], variables: readonly IVariable[]): string {
  let name = 'result';
  for (let number = 2; names.includes(name) || variables.some(variable => variable.name === name); number++) {
    name = `result_${number}`;
  }
  const table = variables.find(({ type }) => type === 'DataFrame') ?? variables[0];
  return `%%autocode ${name}\nDescribe what you need${table ? ` from @${table.name}` : ''}.`;
}
