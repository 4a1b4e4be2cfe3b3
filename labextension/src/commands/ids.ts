/** The ids of our commands. */
export const CommandIDs = {
  newCell: 'autocoder-jupyter:new-cell',
  run: 'autocoder-jupyter:run',
  cancel: 'autocoder-jupyter:cancel',
  inspect: 'autocoder-jupyter:inspect',
  insert: 'autocoder-jupyter:insert-code',
  call: 'autocoder-jupyter:call',
  insertCall: 'autocoder-jupyter:insert-call',
  retry: 'autocoder-jupyter:retry',
  editRequest: 'autocoder-jupyter:edit-request',
  editCode: 'autocoder-jupyter:edit-code',
  raiseLimit: 'autocoder-jupyter:raise-limit',
  export: 'autocoder-jupyter:export',
  reveal: 'autocoder-jupyter:reveal-cell',
  approve: 'autocoder-jupyter:approve',
  decline: 'autocoder-jupyter:decline',
  panel: 'autocoder-jupyter:open-panel'
} as const;

/** The id of one of our commands. */
export type CommandID = (typeof CommandIDs)[keyof typeof CommandIDs];
