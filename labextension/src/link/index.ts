import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';

import { Links } from './links';
import { ILink } from './tokens';

/** The page's side of the comm that the kernel opens. */
const plugin: JupyterFrontEndPlugin<ILink> = {
  id: 'autocoder-jupyter:link',
  description: 'Talks with the kernels of open notebooks and consoles about %%autocode.',
  autoStart: true,
  provides: ILink,
  requires: [INotebookTracker],
  optional: [IConsoleTracker],
  activate: (_app: JupyterFrontEnd, notebooks: INotebookTracker, consoles: IConsoleTracker | null): ILink => {
    const links = new Links();
    notebooks.forEach(panel => links.follow(panel));
    notebooks.widgetAdded.connect((_, panel) => links.follow(panel));
    // A page that does not take the kernel's comm closes it; and without a hello, a result is offered as a widget.
    consoles?.forEach(panel => links.follow(panel));
    consoles?.widgetAdded.connect((_, panel) => links.follow(panel));
    return links;
  }
};

export default plugin;
