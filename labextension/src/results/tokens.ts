import { Token } from '@lumino/coreutils';

import type { CurrentResults } from './current';

/** The results that panel, status bar and commands share. */
export const IResults = new Token<IResults>(
  'autocoder-jupyter:IResults',
  'The %%autocode results of the current notebook.'
);
export type IResults = CurrentResults;
