import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';

import { commandOf } from '../commands/ids';
import { IResults } from '../results/tokens';
import { autocodeIcon } from '../icons';
import { VersionManager } from './versionManager';
import { ResultsPanel } from './panel';
import { Start } from './start';

/** The side panel with the list of results. */
const plugin: JupyterFrontEndPlugin<void> = {
  id: 'autocoder-jupyter:panel',
  description: 'A side panel with the %%autocode results of the current notebook.',
  autoStart: true,
  requires: [IResults],
  optional: [ILayoutRestorer, ICommandPalette, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    results: IResults,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    registry: ISettingRegistry | null
  ) => {
    const start = registry && new Start(results, registry);
    const panel = new ResultsPanel(results, app.commands, start, new VersionManager(results));
    app.shell.add(panel, 'right', { rank: 600, type: 'Autocode results' });
    restorer?.add(panel, panel.id);
    app.commands.addCommand(commandOf('open-panel'), {
      label: 'Show the Results',
      caption: 'Show the panel with the %%autocode results of this notebook.',
      icon: autocodeIcon,
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => app.shell.activateById(panel.id)
    });
    palette?.addItem({ command: commandOf('open-panel'), category: 'Autocode' });
  }
};

export default plugin;
