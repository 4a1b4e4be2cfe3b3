import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { LabIcon } from '@jupyterlab/ui-components';
import {
  addBelowIcon,
  checkIcon,
  closeIcon,
  downloadIcon,
  inspectorIcon,
  runIcon,
  searchIcon,
  stopIcon
} from '@jupyterlab/ui-components';

import { indexOf, insertBelow, reveal } from '../cells/place';
import type { Inspectors } from '../inspector/inspectors';
import type { Action, IKernelLink } from '../link/tokens';
import type { IEntry } from '../results/entries';
import { isUnderWay } from '../results/entries';
import type { IResults } from '../results/tokens';
import { exportResult } from './exporting';
import type { CommandID } from './ids';
import { CommandIDs } from './ids';
import type { ITarget } from './target';

/** One command about one result. */
export interface IAct {
  id: CommandID;
  label: string;
  caption: string;
  icon: LabIcon;
  /** Whether it makes sense for a result. */
  fits: (entry: IEntry) => boolean;
  /** Does it; rejects with a sentence for a person. */
  execute: (target: ITarget) => Promise<unknown>;
}

interface ISurroundings {
  app: JupyterFrontEnd;
  results: IResults;
  inspectors: Inspectors;
}

/** All of them. */
export function acts({ app, results, inspectors }: ISurroundings): IAct[] {
  const link = (): IKernelLink => {
    if (results.link === null) {
      throw new Error('The notebook has no kernel.');
    }
    return results.link;
  };
  const ask =
    (action: Action) =>
    ({ entry }: ITarget): Promise<unknown> =>
      link().request(action, entry.name);

  return [
    {
      id: CommandIDs.run,
      label: 'Run',
      caption: 'Run the %%autocode cell: build and test the function.',
      icon: runIcon,
      fits: entry => entry.cellId !== null && !isUnderWay(entry.job),
      execute: async ({ notebook, entry }) => {
        reveal(notebook, entry.cellId ?? '');
        await app.commands.execute('notebook:run-cell');
      }
    },
    {
      id: CommandIDs.cancel,
      label: 'Cancel',
      caption: 'Stop the generation that runs.',
      icon: stopIcon,
      fits: entry => isUnderWay(entry.job),
      execute: ask('cancel')
    },
    {
      id: CommandIDs.inspect,
      label: 'Inspect',
      caption: 'Show the function and what its success rests on.',
      icon: inspectorIcon,
      fits: entry => entry.job !== null,
      execute: async ({ notebook, entry }) => inspectors.open(notebook, entry.name)
    },
    {
      id: CommandIDs.insert,
      label: 'Insert Code Below',
      caption: 'Put the code of the function, or of the best attempt, into a new cell.',
      icon: addBelowIcon,
      fits: entry => ['ready', 'failed'].includes(entry.job?.phase ?? ''),
      execute: async ({ notebook, entry }) => {
        const code = await link().request('code', entry.name);
        const index = indexOf(notebook, entry.cellId);
        insertBelow(notebook, index === -1 ? notebook.content.widgets.length - 1 : index, code ?? '');
      }
    },
    {
      id: CommandIDs.export,
      label: 'Export',
      caption: 'Write the function as a script with a command line, and its tests.',
      icon: downloadIcon,
      fits: entry => entry.job?.phase === 'ready',
      execute: ({ notebook, entry }) =>
        exportResult(notebook, link(), entry.name, app.serviceManager.contents, path => {
          void app.commands.execute('docmanager:open', { path });
        })
    },
    {
      id: CommandIDs.reveal,
      label: 'Show the Cell',
      caption: 'Go to the %%autocode cell that makes the result.',
      icon: searchIcon,
      fits: entry => entry.cellId !== null,
      execute: async ({ notebook, entry }) => {
        app.shell.activateById(notebook.id);
        if (!reveal(notebook, entry.cellId ?? '')) {
          throw new Error(`The cell of ${entry.name} is not in this notebook any more.`);
        }
      }
    },
    {
      id: CommandIDs.approve,
      label: 'Approve the Packages',
      caption: 'Let it install the packages that it waits for.',
      icon: checkIcon,
      fits: entry => entry.job?.phase === 'waiting',
      execute: ask('approve')
    },
    {
      id: CommandIDs.decline,
      label: 'Decline the Packages',
      caption: 'Refuse the packages; it then goes on without them.',
      icon: closeIcon,
      fits: entry => entry.job?.phase === 'waiting',
      execute: ask('decline')
    }
  ];
}
