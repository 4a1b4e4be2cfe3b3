import { Dialog, InputDialog, Notification, showDialog } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import { ServerConnection } from '@jupyterlab/services';

import type { IKernelLink } from '../link/tokens';
import { pathInLab } from './paths';

/** Ask for a path, and have the kernel export a result there as a script. */
export async function exportResult(
  notebook: NotebookPanel,
  link: IKernelLink,
  name: string,
  contents: Contents.IManager,
  open: (path: string) => void
): Promise<void> {
  const asked = await InputDialog.getText({
    title: `Export ${name} as a script`,
    label: 'Path, from the folder of the notebook',
    text: `${name}.py`,
    selectionRange: name.length,
    okLabel: 'Export',
    required: true
  });
  const path = asked.button.accept ? asked.value?.trim() : '';
  if (!path) {
    return;
  }
  const shown = pathInLab(notebook.context.path, path);
  if (!(await mayWrite(path, shown, contents))) {
    return;
  }
  const written = await link.request('export', name, { path });
  Notification.success(`Wrote ${written ?? path}.`, {
    autoClose: 8000,
    actions: shown === null ? [] : [{ label: 'Open', callback: () => open(shown) }]
  });
}

async function mayWrite(path: string, shown: string | null, contents: Contents.IManager): Promise<boolean> {
  const question =
    shown === null
      ? `JupyterLab cannot check whether ${path} exists. If it exists, it will be replaced.`
      : (await exists(shown, contents))
        ? `The file ${path} exists. It will be replaced.`
        : '';
  if (!question) {
    return true;
  }
  const answer = await showDialog({
    title: 'Replace the file?',
    body: question,
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Replace' })]
  });
  return answer.button.accept;
}

async function exists(path: string, contents: Contents.IManager): Promise<boolean> {
  try {
    await contents.get(path, { content: false });
    return true;
  } catch (error) {
    if (error instanceof ServerConnection.ResponseError && error.response.status === 404) {
      return false;
    }
    throw error;
  }
}
