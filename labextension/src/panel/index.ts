import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import type { KernelSpec } from '@jupyterlab/services';
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
  optional: [ILayoutRestorer, ICommandPalette, ILauncher, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    results: IResults,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
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
    if (start === null) {
      return;
    }
    app.commands.addCommand(commandOf('first-steps'), {
      label: args => (args.cwd === undefined ? 'First Steps' : 'Autocode: First Steps'), // the launcher names a folder
      caption: 'Choose and check a model, and insert a first cell.',
      icon: autocodeIcon,
      describedBy: { args: { type: 'object', properties: { cwd: { type: 'string' } } } },
      execute: async ({ cwd }) => {
        if (results.notebook === null) {
          const { kernelspecs } = app.serviceManager;
          await kernelspecs.ready;
          await app.commands.execute('notebook:create-new', { cwd, kernelName: pythonIn(kernelspecs.specs) });
        }
        panel.showStart();
        app.shell.activateById(panel.id);
      }
    });
    palette?.addItem({ command: commandOf('first-steps'), category: 'Autocode' });
    launcher?.add({ command: commandOf('first-steps'), category: 'Other' });
  }
};

export default plugin;

/** The kernel of a new notebook: the usual one if that is for Python. */
function pythonIn(specs: KernelSpec.ISpecModels | null): string | undefined {
  const names = [specs?.default, ...Object.keys(specs?.kernelspecs ?? {})];
  return names.find(name => name !== undefined && specs?.kernelspecs[name]?.language === 'python');
}
