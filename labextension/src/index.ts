import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import commands from './commands';
import editor from './editor';
import link from './link';
import outputs from './outputs';
import panel from './panel';
import results from './results';
import settings from './settings';
import status from './status';

const plugins: JupyterFrontEndPlugin<unknown>[] = [link, results, editor, commands, panel, status, settings, outputs];

export default plugins;
