import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';

import { Links } from './links';
import { ILink } from './tokens';

/** The page's side of the comm that the kernel opens. */
const plugin: JupyterFrontEndPlugin<ILink> = {
  id: 'autocoder-jupyter:link',
  description: 'Talks with the kernels of open notebooks about %%autocode.',
  autoStart: true,
  provides: ILink,
  requires: [INotebookTracker],
  activate: (_app: JupyterFrontEnd, notebooks: INotebookTracker): ILink => {
    const links = new Links();
    notebooks.forEach(panel => links.follow(panel));
    notebooks.widgetAdded.connect((_, panel) => links.follow(panel));
    return links;
  }
};

export default plugin;
