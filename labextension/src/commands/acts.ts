import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { LabIcon } from '@jupyterlab/ui-components';

import { executeInCell, haveBelow, indexOf, insertBelow, reveal } from '../cells/place';
import { ACT_ICONS } from '../icons';
import type { Inspectors } from '../inspector/inspectors';
import type { Action, IKernelLink } from '../link/tokens';
import type { IEntry } from '../results/entries';
import { canRaise, isFunction, isUnderWay } from '../results/entries';
import type { IResults } from '../results/tokens';
import { exportResult } from './exporting';
import type { CommandID } from './ids';
import { CommandIDs } from './ids';
import { raiseLimit } from './limits';
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
      icon: ACT_ICONS.run,
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
      icon: ACT_ICONS.cancel,
      fits: entry => isUnderWay(entry.job),
      execute: ask('cancel')
    },
    {
      id: CommandIDs.inspect,
      label: 'Inspect',
      caption: 'Show the function and what its success rests on.',
      icon: ACT_ICONS.inspect,
      fits: entry => entry.job !== null,
      execute: async ({ notebook, entry }) => inspectors.open(notebook, entry.name)
    },
    {
      id: CommandIDs.insert,
      label: 'Insert Code Below',
      caption: 'Put the code of the function, or of the best attempt, into a new cell.',
      icon: ACT_ICONS.insert,
      fits: entry => isFunction(entry.job) && ['ready', 'failed'].includes(entry.job?.phase ?? ''),
      execute: async ({ notebook, entry }) => {
        insertBelow(notebook, placeOf(notebook, entry), (await link().request('code', entry.name)) ?? '');
      }
    },
    {
      id: CommandIDs.call,
      label: 'Call It Below',
      caption: 'Call the function in a cell below, and run that.',
      icon: ACT_ICONS.run,
      fits: entry => isFunction(entry.job) && entry.job?.phase === 'ready',
      execute: async ({ notebook, entry }) => {
        const line = (await link().request('call', entry.name)) ?? '';
        haveBelow(notebook, placeOf(notebook, entry), line);
        if (line.includes('...')) {
          notebook.content.mode = 'edit'; // a value is missing
        } else {
          await app.commands.execute('notebook:run-cell');
        }
      }
    },
    {
      id: CommandIDs.insertCall,
      label: 'Insert a Call Below',
      caption: 'Put a line that calls the function into a new cell.',
      icon: ACT_ICONS.call,
      fits: entry => isFunction(entry.job) && entry.job?.phase === 'ready',
      execute: async ({ notebook, entry }) => {
        insertBelow(notebook, placeOf(notebook, entry), (await link().request('assignment', entry.name)) ?? '');
      }
    },
    {
      id: CommandIDs.retry,
      label: 'Retry',
      caption: 'Ask the model again for the same request, and do not use the answers that there are.',
      icon: ACT_ICONS.retry,
      fits: entry => entry.job !== null && !isUnderWay(entry.job),
      execute: ({ notebook, entry }) => executeInCell(notebook, entry.cellId, `%autocode retry ${entry.name}`)
    },
    {
      id: CommandIDs.editRequest,
      label: 'Edit the Request',
      caption: 'Go to the %%autocode cell and write in it.',
      icon: ACT_ICONS.edit,
      fits: entry => entry.cellId !== null,
      execute: async ({ notebook, entry }) => {
        reveal(notebook, entry.cellId ?? '');
        notebook.content.mode = 'edit';
      }
    },
    {
      id: CommandIDs.editCode,
      label: 'Edit the Code',
      caption: 'Open the code of the best attempt.',
      icon: ACT_ICONS.edit,
      fits: entry => isFunction(entry.job) && entry.job !== null && !isUnderWay(entry.job),
      execute: async ({ notebook, entry }) => inspectors.open(notebook, entry.name)
    },
    {
      id: CommandIDs.raiseLimit,
      label: 'Raise the Limit',
      caption: 'Allow more of what it ran out of, and run it again.',
      icon: ACT_ICONS.more,
      fits: entry => entry.cellId !== null && !!entry.job && canRaise(entry.job),
      execute: async ({ notebook, entry }) => {
        if (await raiseLimit(notebook, entry)) {
          await app.commands.execute('notebook:run-cell');
        }
      }
    },
    {
      id: CommandIDs.export,
      label: 'Export',
      caption: 'Write the function as a script with a command line, and its tests.',
      icon: ACT_ICONS.export,
      fits: entry => isFunction(entry.job) && entry.job?.phase === 'ready',
      execute: ({ notebook, entry }) =>
        exportResult(notebook, link(), entry.name, app.serviceManager.contents, path => {
          void app.commands.execute('docmanager:open', { path });
        })
    },
    {
      id: CommandIDs.reveal,
      label: 'Show the Cell',
      caption: 'Go to the %%autocode cell that makes the result.',
      icon: ACT_ICONS.reveal,
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
      label: 'Approve',
      caption: 'Let it install the packages, or make the call, that it waits for.',
      icon: ACT_ICONS.approve,
      fits: entry => entry.job?.phase === 'waiting',
      execute: ask('approve')
    },
    {
      id: CommandIDs.decline,
      label: 'Decline',
      caption: 'Refuse what it waits for; it then goes on without.',
      icon: ACT_ICONS.decline,
      fits: entry => entry.job?.phase === 'waiting',
      execute: ask('decline')
    }
  ];
}

/** The cell below which something of a result goes: its own, or the last one. */
function placeOf(notebook: NotebookPanel, { cellId }: IEntry): number {
  const index = indexOf(notebook, cellId);
  return index === -1 ? notebook.content.widgets.length - 1 : index;
}
