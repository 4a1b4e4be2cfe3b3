import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IThemeManager } from '@jupyterlab/apputils';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { DisposableDelegate } from '@lumino/disposable';

import { insertBelow, runBelow, runCellWith } from '../cells/place';
import { commandOf } from '../commands/ids';
import { ChartPlaces } from '../charts/places';
import { chartFactory } from '../charts/renderer';
import { ILink } from '../link/tokens';
import { ActionListener } from './actions';
import { errorFactory } from './errors';
import { keepFocus } from './focus';
import { followedFactory } from './followed';
import { modelForms } from './modelForm';
import { widgetFactory } from './widget';

/** Preferred to HTML, as widgets are, and to the page's own charts. */
const RANK = -10;

/** Renders our outputs: live widgets, charts, cards that follow their runs, and their buttons; and errors. */
const plugin: JupyterFrontEndPlugin<void> = {
  id: 'autocoder-jupyter:outputs',
  description: 'Shows %%autocode results in outputs, and handles their buttons.',
  autoStart: true,
  requires: [INotebookTracker, IRenderMimeRegistry, ILink],
  optional: [IThemeManager, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker,
    rendermime: IRenderMimeRegistry,
    links: ILink,
    themes: IThemeManager | null,
    registry: ISettingRegistry | null
  ) => {
    keepFocus(document.body);
    new ChartPlaces(document.body, themes); // notebooks, inspectors, and views of outputs
    rendermime.addFactory(chartFactory(themes), RANK);
    rendermime.addFactory(widgetFactory(null, rendermime, rendermime), RANK);
    rendermime.addFactory(followedFactory(null, rendermime, links, app.commands), RANK);
    const serve = (panel: NotebookPanel): DisposableDelegate => {
      const own = panel.content.rendermime;
      own.addFactory(chartFactory(themes), RANK);
      own.addFactory(widgetFactory(panel, own, rendermime), RANK);
      own.addFactory(errorFactory(panel, own, links), RANK);
      own.addFactory(
        followedFactory(panel, own, links, app.commands, modelForms(panel, links, app.commands, registry)),
        RANK
      );
      const listener = new ActionListener(
        panel.node,
        (source, button) => {
          insertBelow(panel, cellAround(panel, button), source);
        },
        (source, button) => runBelow(panel, cellAround(panel, button), source),
        (button, options) => runCellWith(panel, cellAround(panel, button), options),
        (action, name) => void app.commands.execute(commandOf(action), { name })
      );
      return new DisposableDelegate(() => listener.dispose());
    };
    // A notebook that is opened later needs the renderer before it shows its first output.
    notebooks.forEach(serve);
    app.docRegistry.addWidgetExtension('Notebook', {
      createNew: (widget): DisposableDelegate => serve(widget as NotebookPanel)
    });
  }
};

export default plugin;

/** The index of the cell that contains a button; the last cell if none does. */
function cellAround(panel: NotebookPanel, button: HTMLElement): number {
  const { widgets } = panel.content;
  const index = widgets.findIndex(cell => cell.node.contains(button));
  return index === -1 ? widgets.length - 1 : index;
}
