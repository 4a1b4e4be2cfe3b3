import type { IVariable } from '../link/tokens';

/** The text of a new `%%autocode` cell: a free name, and a sentence about the first table, if there is one. */
export function templateOf(names: readonly string[], variables: readonly IVariable[]): string {
  const table = variables.find(({ type }) => type === 'DataFrame') ?? variables[0];
  const name = freeName('result', names, variables);
  return `%%autocode ${name}\nDescribe what you need${table ? ` from @${table.name}` : ''}.`;
}

/** A name with a number behind it if functions or data of the notebook have it. */
export function freeName(wanted: string, names: readonly string[], variables: readonly IVariable[]): string {
  let name = wanted;
  for (let number = 2; names.includes(name) || variables.some(variable => variable.name === name); number++) {
    name = `${wanted}_${number}`;
  }
  return name;
}
