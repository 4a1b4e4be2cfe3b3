import { Dialog, InputDialog, showDialog } from '@jupyterlab/apputils';

import type { IResults } from '../results/tokens';
import { runCode } from './runCode';

/** A version of a function; all values are texts to show. */
export interface IVersion {
  number: string;
  started: string;
  /** The headline of the version in lower case, followed by `current` or `pinned`; older kernels say `counts` for `current`. */
  state: string;
  by: string;
  /** What passed, or why it failed; `as 1` if that is the same as for version 1. */
  evidence: string;
  why: string;
  request: string;
}

/** An action on a version. */
export type Change = 'restore' | 'pin' | 'unpin' | 'remove';

/** Reads and changes the versions of functions of the current notebook. */
export class VersionManager {
  constructor(private readonly _results: IResults) {}

  /** The versions, oldest first. Rejects with an error to show to the user. */
  async versions(name: string): Promise<readonly IVersion[]> {
    const told = await this._results.link?.request('versions', name);
    return JSON.parse(told ?? '[]') as IVersion[];
  }

  /** Change the current version with a line magic. Returns its output; '' if the user cancelled. */
  async change(change: Change, name: string, { number }: IVersion): Promise<string> {
    if (change === 'remove' && !(await agreed(`Remove version ${number} of ${name} from disk?`))) {
      return '';
    }
    return change === 'unpin' ? this._run(name, 'pin', '--off') : this._run(name, change, number);
  }

  /** Rename the function with a line magic. Returns its output; '' if the user cancelled. */
  async rename(name: string): Promise<string> {
    const asked = await InputDialog.getText({ title: `Rename ${name}`, label: 'New name', text: name });
    const wanted = asked.button.accept ? (asked.value ?? '').trim() : '';
    return wanted === '' || wanted === name ? '' : this._run(name, 'rename', wanted);
  }

  private async _run(name: string, change: string, what: string): Promise<string> {
    const { notebook, link } = this._results;
    if (notebook === null) {
      throw new Error('Open a notebook first.');
    }
    // Not over the link: the magic binds the name, which must happen on the kernel's main thread.
    const isOlder = link?.vocabulary.subcommands.every(({ name }) => name !== 'versions'); // one for each change
    const line = isOlder ? `${change} ${name} ${what}` : `versions ${name} ${change} ${what}`;
    return (await runCode(notebook, `%autocode ${line}`)).trim();
  }
}

async function agreed(title: string): Promise<boolean> {
  const answer = await showDialog({ title, buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Remove' })] });
  return answer.button.accept;
}
