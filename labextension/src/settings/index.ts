import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';

import { ILink } from '../link/tokens';
import { setValues } from './values';

/** The settings page. Its id is that of the schema, which also has toolbars, menus and shortcuts. */
const plugin: JupyterFrontEndPlugin<void> = {
  id: 'autocoder-jupyter:plugin',
  description: 'Sends the settings of %%autocode to every kernel.',
  autoStart: true,
  requires: [ILink],
  optional: [ISettingRegistry],
  activate: (_app: JupyterFrontEnd, links: ILink, registry: ISettingRegistry | null) => {
    let complaint = '';
    links.refused.connect((_, sentences) => {
      const message = sentences.join(' ');
      if (message !== complaint) {
        complaint = message; // each kernel sends the same message
        Notification.error(`Autocode: ${message}`, { autoClose: false });
      }
    });
    registry
      ?.load(plugin.id)
      .then(settings => {
        const give = (): void => {
          complaint = '';
          links.configure(setValues(name => settings.get(name).composite));
        };
        settings.changed.connect(give);
        give();
      })
      .catch((reason: Error) => {
        Notification.error(`The settings of Autocode cannot be read: ${reason.message}`);
      });
  }
};

export default plugin;
