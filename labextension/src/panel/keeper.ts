import { Dialog, InputDialog, showDialog } from '@jupyterlab/apputils';

import type { IResults } from '../results/tokens';
import { said } from './said';

/** A version of a function; all in words for a person. */
export interface IVersion {
  number: string;
  started: string;
  /** `ready` or `failed`, and `counts` or `pinned`. */
  state: string;
  by: string;
  evidence: string;
  why: string;
  request: string;
}

/** What can be done with a version. */
export type Change = 'restore' | 'pin' | 'let go' | 'remove';

/** The versions of the functions of the notebook in front. */
export class Keeper {
  constructor(private readonly _results: IResults) {}

  /** Oldest first; rejects with a sentence for a person. */
  async versions(name: string): Promise<readonly IVersion[]> {
    const told = await this._results.link?.request('versions', name);
    return JSON.parse(told ?? '[]') as IVersion[];
  }

  /** Change which version counts, by the line that a person would type. What the kernel says of it; '' if given up. */
  async change(change: Change, name: string, { number }: IVersion): Promise<string> {
    if (change === 'remove' && !(await agreed(`Remove version ${number} of ${name} from disk?`))) {
      return '';
    }
    return this._run(change === 'let go' ? `pin ${name} --off` : `${change} ${name} ${number}`);
  }

  /** Give the function another name. What the kernel says of it; '' if given up. */
  async rename(name: string): Promise<string> {
    const asked = await InputDialog.getText({ title: `Rename ${name}`, label: 'New name', text: name });
    const wanted = asked.button.accept ? (asked.value ?? '').trim() : '';
    return wanted === '' || wanted === name ? '' : this._run(`rename ${name} ${wanted}`);
  }

  private async _run(line: string): Promise<string> {
    const { notebook } = this._results;
    if (notebook === null) {
      throw new Error('Open a notebook first.');
    }
    // Not over the link: the name is bound anew, which is the main thread's to do.
    return (await said(notebook, `%autocode ${line}`)).trim();
  }
}

async function agreed(title: string): Promise<boolean> {
  const answer = await showDialog({ title, buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Remove' })] });
  return answer.button.accept;
}
