import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';

import { commandOf } from '../commands/ids';
import { IResults } from '../results/tokens';
import { StatusItem } from './item';

/** Running jobs and their cost in the status bar, if there is one. */
const plugin: JupyterFrontEndPlugin<void> = {
  id: 'autocoder-jupyter:status',
  description: 'Shows running %%autocode jobs and their cost in the status bar.',
  autoStart: true,
  requires: [IResults],
  optional: [IStatusBar],
  activate: (app: JupyterFrontEnd, results: IResults, statusBar: IStatusBar | null) => {
    if (statusBar === null) {
      return;
    }
    const item = new StatusItem(results, () => void app.commands.execute(commandOf('open-panel')));
    statusBar.registerStatusItem(plugin.id, {
      item,
      align: 'left',
      rank: 3,
      isActive: () => item.words !== '',
      activeStateChanged: item.changed
    });
  }
};

export default plugin;
