import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';

import { Links } from './links';
import { ILink } from './tokens';

/** The page's side of the comm that the kernel opens. */
const plugin: JupyterFrontEndPlugin<ILink> = {
  id: 'autocoder-jupyter:link',
  description: 'Connects to the kernels of open notebooks and consoles for %%autocode.',
  autoStart: true,
  provides: ILink,
  requires: [INotebookTracker],
  optional: [IConsoleTracker],
  activate: (_app: JupyterFrontEnd, notebooks: INotebookTracker, consoles: IConsoleTracker | null): ILink => {
    const links = new Links();
    notebooks.forEach(panel => links.follow(panel));
    notebooks.widgetAdded.connect((_, panel) => links.follow(panel));
    // A page that does not accept the comm of the kernel closes it; without `hello`, the kernel sends standard widgets.
    consoles?.forEach(panel => links.follow(panel));
    consoles?.widgetAdded.connect((_, panel) => links.follow(panel));
    return links;
  }
};

export default plugin;
