import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell } from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import { IEditorServices } from '@jupyterlab/codeeditor';
import { INotebookTracker } from '@jupyterlab/notebook';

import { newCell } from '../cells/first';
import { CodeEditors } from '../inspector/codeEditors';
import { Inspectors } from '../inspector/inspectors';
import { ILink } from '../link/tokens';
import { IResults } from '../results/tokens';
import { acts, isPossible } from './acts';
import { commandOf } from './ids';
import type { IArgs, ITarget } from './target';
import { ARGS_SCHEMA, activeName, chosen } from './target';

/** The commands for results, in the palette, keyboard shortcuts, toolbar and menu. */
const plugin: JupyterFrontEndPlugin<void> = {
  id: 'autocoder-jupyter:commands',
  description: 'Commands for %%autocode cells and their results.',
  autoStart: true,
  requires: [IResults, ILink, INotebookTracker, IEditorServices],
  optional: [ILabShell, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    results: IResults,
    links: ILink,
    notebooks: INotebookTracker,
    services: IEditorServices,
    labShell: ILabShell | null,
    palette: ICommandPalette | null
  ) => {
    const { commands } = app;
    const inspectors = new Inspectors(
      app.shell,
      labShell,
      links,
      (action, name) => void commands.execute(commandOf(action), { name })
    );
    const editors = new CodeEditors(app.shell, labShell, services);
    const all = acts({ app, results, inspectors, editors });
    for (const act of all) {
      const target = (args: IArgs): ITarget | null => {
        const entry = chosen(results.entries, activeName(results), args, entry => isPossible(act, entry));
        return entry !== null && results.notebook !== null ? { notebook: results.notebook, entry } : null;
      };
      commands.addCommand(commandOf(act.action), {
        label: (args: IArgs) => `${act.label}${named(target(args))}`,
        caption: act.caption,
        icon: act.icon,
        describedBy: { args: ARGS_SCHEMA },
        isEnabled: (args: IArgs) => target(args) !== null,
        isVisible: (args: IArgs) => !args.cell || target(args) !== null,
        execute: async (args: IArgs) => {
          const found = target(args);
          if (found === null) {
            Notification.warning(
              `${act.label}: this command is not possible for ${args.name ?? 'any %%autocode result'}.`
            );
            return;
          }
          try {
            await act.execute(found);
          } catch (error) {
            Notification.error(error instanceof Error ? error.message : String(error));
          }
        }
      });
      palette?.addItem({ command: commandOf(act.action), category: 'Autocode' });
    }
    commands.addCommand(commandOf('new-cell'), {
      label: 'New Autocode Cell',
      caption: 'Insert a new %%autocode cell below this one.',
      describedBy: { args: { type: 'object', properties: {} } },
      isEnabled: () => results.notebook !== null,
      execute: async () => results.notebook && newCell(results.notebook, results.link)
    });
    palette?.addItem({ command: commandOf('new-cell'), category: 'Autocode' });
    const tell = (): void =>
      ['new-cell', ...all.map(act => act.action)].forEach(action => commands.notifyCommandChanged(commandOf(action)));
    results.changed.connect(tell);
    notebooks.activeCellChanged.connect(tell);
  }
};

export default plugin;

function named(target: ITarget | null): string {
  return target === null ? '' : `: ${target.entry.name}`;
}
