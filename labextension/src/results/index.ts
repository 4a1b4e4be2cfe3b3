import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';

import { ILink } from '../link/tokens';
import { CurrentResults } from './current';
import { IResults } from './tokens';

/** The results for panel, status bar and commands. */
const plugin: JupyterFrontEndPlugin<IResults> = {
  id: 'autocoder-jupyter:results',
  description: 'Keeps the list of the %%autocode results of the current notebook.',
  autoStart: true,
  provides: IResults,
  requires: [INotebookTracker, ILink],
  activate: (_app: JupyterFrontEnd, notebooks: INotebookTracker, links: ILink) => new CurrentResults(notebooks, links)
};

export default plugin;
