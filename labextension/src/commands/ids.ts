/** The id of the command for an action: one that the kernel names, or one that only the page has. */
export function commandOf(action: string): string {
  return `autocoder-jupyter:${action}`;
}
