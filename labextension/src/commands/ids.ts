/** Our commands. */
export const CommandIDs = {
  run: 'autocoder-jupyter:run',
  cancel: 'autocoder-jupyter:cancel',
  inspect: 'autocoder-jupyter:inspect',
  insert: 'autocoder-jupyter:insert-code',
  export: 'autocoder-jupyter:export',
  reveal: 'autocoder-jupyter:reveal-cell',
  approve: 'autocoder-jupyter:approve',
  decline: 'autocoder-jupyter:decline',
  panel: 'autocoder-jupyter:open-panel'
} as const;

/** The name of one of our commands. */
export type CommandID = (typeof CommandIDs)[keyof typeof CommandIDs];
