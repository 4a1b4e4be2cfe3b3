import { Token } from '@lumino/coreutils';

import type { CurrentResults } from './current';

/** The results that panel, status bar and commands share. */
export const IResults = new Token<IResults>(
  'autocoder-jupyter:IResults',
  'The %%autocode results of the notebook that a person works in.'
);
export type IResults = CurrentResults;
