import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { LabIcon } from '@jupyterlab/ui-components';

import { executeInCell, haveBelow, indexOf, insertBelow, reveal } from '../cells/place';
import { ACT_ICONS } from '../icons';
import type { CodeEditors } from '../inspector/codeEditors';
import type { Inspectors } from '../inspector/inspectors';
import type { Action, IKernelLink } from '../link/tokens';
import type { IEntry } from '../results/entries';
import { allows, isUnderWay, needsCell } from '../results/entries';
import type { IResults } from '../results/tokens';
import { exportResult } from './exporting';
import { askForPrices, raiseLimit } from './limits';
import type { ITarget } from './target';

/** A command for one result. */
export interface IAct {
  /** The name of the kernel's action, or of one that only the page has. The id of the command ends with it. */
  action: string;
  label: string;
  caption: string;
  icon: LabIcon;
  /** Whether the command is possible; only for commands that need no kernel. For all others, the kernel says it. */
  fits?: (entry: IEntry) => boolean;
  /** Executes it; rejects with an error to show to the user. */
  execute: (target: ITarget) => Promise<unknown>;
}

interface ISurroundings {
  app: JupyterFrontEnd;
  results: IResults;
  inspectors: Inspectors;
  editors: CodeEditors;
}

/** All commands. */
export function acts({ app, results, inspectors, editors }: ISurroundings): IAct[] {
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
  const decide =
    (action: Action) =>
    ({ entry }: ITarget): Promise<unknown> =>
      link().request(action, entry.name, { question: entry.job?.question });

  const priced = async ({ notebook, entry }: ITarget, prices: [number, number]): Promise<void> => {
    await link().request('price', entry.name, { prices });
    if (reveal(notebook, entry.cellId ?? '')) {
      await app.commands.execute('notebook:run-cell');
    }
  };

  return [
    {
      action: 'run',
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
      action: 'cancel',
      label: 'Cancel',
      caption: 'Cancel the running generation.',
      icon: ACT_ICONS.cancel,
      execute: ask('cancel')
    },
    {
      action: 'inspect',
      label: 'Inspect',
      caption: 'Show the function and its tests.',
      icon: ACT_ICONS.inspect,
      execute: async ({ notebook, entry }) => inspectors.open(notebook, entry.name)
    },
    {
      action: 'insert-code',
      label: 'Insert Code Below',
      caption: 'Insert the code of the function, or of the best attempt, into a new cell.',
      icon: ACT_ICONS.insert,
      execute: async ({ notebook, entry }) => {
        insertBelow(notebook, placeOf(notebook, entry), (await link().request('code', entry.name)) ?? '');
      }
    },
    {
      action: 'call',
      label: 'Call Below',
      caption: 'Insert a cell that calls the function, and run it.',
      icon: ACT_ICONS.run,
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
      action: 'insert-call',
      label: 'Insert a Call Below',
      caption: 'Insert a call of the function into a new cell.',
      icon: ACT_ICONS.call,
      execute: async ({ notebook, entry }) => {
        insertBelow(notebook, placeOf(notebook, entry), (await link().request('assignment', entry.name)) ?? '');
      }
    },
    {
      action: 'check-split',
      label: 'Check How It May Be Split',
      caption:
        'Compare the answer for the whole sample with those for its pieces, for large tables. No model is asked.',
      icon: ACT_ICONS.inspect,
      execute: ask('check-split')
    },
    {
      action: 'retry',
      label: 'Retry',
      caption: 'Ask the model the same request again, without the recorded answers.',
      icon: ACT_ICONS.retry,
      execute: ({ notebook, entry }) => executeInCell(notebook, entry.cellId, `%autocode retry ${entry.name}`)
    },
    {
      action: 'edit-request',
      label: 'Edit the Request',
      caption: 'Go to the %%autocode cell and edit it.',
      icon: ACT_ICONS.edit,
      fits: entry => entry.cellId !== null,
      execute: async ({ notebook, entry }) => {
        reveal(notebook, entry.cellId ?? '');
        notebook.content.mode = 'edit';
      }
    },
    {
      action: 'edit-code',
      label: 'Edit the Code',
      caption: 'Edit the code and the tests, and test them. No model is asked.',
      icon: ACT_ICONS.edit,
      execute: target => editors.open(target, link())
    },
    {
      action: 'choose-model',
      label: 'Choose a Model',
      caption: 'Go to the card, which asks for a model and its key.',
      icon: ACT_ICONS.edit,
      execute: async ({ notebook, entry }) => {
        reveal(notebook, entry.cellId ?? '');
        notebook.content.activeCell?.node.querySelector<HTMLElement>('.jp-AutocodeModel input')?.focus();
      }
    },
    {
      action: 'raise-limit',
      label: 'Raise the Limit',
      caption: 'Raise the limit that stopped the run, and run the cell again.',
      icon: ACT_ICONS.more,
      execute: async ({ notebook, entry }) => {
        if (await raiseLimit(notebook, entry)) {
          await app.commands.execute('notebook:run-cell');
        }
      }
    },
    {
      action: 'free',
      label: 'It Is Free',
      caption: 'Say that the model costs nothing, and run the cell again.',
      icon: ACT_ICONS.more,
      execute: target => priced(target, [0, 0])
    },
    {
      action: 'set-price',
      label: 'Set a Price',
      caption: 'Set the price of the model, and run the cell again.',
      icon: ACT_ICONS.more,
      execute: async target => {
        const prices = await askForPrices(target.entry.name);
        return prices && priced(target, prices);
      }
    },
    {
      action: 'export',
      label: 'Export',
      caption: 'Write the function as a script with a command line, and its tests.',
      icon: ACT_ICONS.export,
      execute: ({ notebook, entry }) =>
        exportResult(notebook, link(), entry.name, app.serviceManager.contents, path => {
          void app.commands.execute('docmanager:open', { path });
        })
    },
    {
      action: 'reveal-cell',
      label: 'Show the Cell',
      caption: 'Go to the %%autocode cell of the result.',
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
      action: 'approve',
      label: 'Approve',
      caption: 'Allow the packages, or the tool call, that it waits for.',
      icon: ACT_ICONS.approve,
      execute: decide('approve')
    },
    {
      action: 'decline',
      label: 'Decline',
      caption: 'Refuse what it waits for; the run continues without it.',
      icon: ACT_ICONS.decline,
      execute: decide('decline')
    },
    {
      action: 'keep',
      label: 'Keep It as It Is',
      caption: 'Answer what is asked about the function: it is right as it is.',
      icon: ACT_ICONS.approve,
      execute: decide('keep')
    },
    {
      action: 'silent-wait',
      label: 'Wait for the Model',
      caption: 'Wait longer for a model that has not answered yet.',
      icon: ACT_ICONS.more,
      execute: ask('silent-wait')
    },
    {
      action: 'silent-again',
      label: 'Ask the Model Again',
      caption: 'Cancel the request without an answer, and send it again.',
      icon: ACT_ICONS.retry,
      execute: ask('silent-again')
    },
    {
      action: 'silent-model',
      label: 'Ask Another Model',
      caption: 'End the run, whose model has not answered yet, and choose another model.',
      icon: ACT_ICONS.edit,
      execute: ask('silent-model')
    }
  ];
}

/** Whether a command is possible for a result. */
export function isPossible({ action, fits }: IAct, entry: IEntry): boolean {
  if (fits !== undefined) {
    return fits(entry);
  }
  return allows(entry.job, action) && (entry.cellId !== null || !needsCell(action));
}

/** The index of the cell below which new cells go: the cell of the result, or the last one. */
function placeOf(notebook: NotebookPanel, { cellId }: IEntry): number {
  const index = indexOf(notebook, cellId);
  return index === -1 ? notebook.content.widgets.length - 1 : index;
}
