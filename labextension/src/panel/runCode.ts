import type { NotebookPanel } from '@jupyterlab/notebook';
import type { KernelMessage } from '@jupyterlab/services';

/** Run code in the kernel without a cell, and return its output as text. */
export async function runCode(notebook: NotebookPanel, code: string): Promise<string> {
  const kernel = notebook.sessionContext.session?.kernel;
  if (!kernel) {
    throw new Error('The notebook has no kernel.');
  }
  let text = '';
  const future = kernel.requestExecute({ code, store_history: false, stop_on_error: false });
  future.onIOPub = message => {
    text += textOf(message);
  };
  await future.done;
  return text;
}

function textOf({ header, content }: KernelMessage.IIOPubMessage): string {
  switch (header.msg_type) {
    case 'stream':
      return (content as KernelMessage.IStreamMsg['content']).text;
    case 'display_data':
      return `${String((content as KernelMessage.IDisplayDataMsg['content']).data['text/plain'] ?? '')}\n`;
    case 'error':
      return `${(content as KernelMessage.IErrorMsg['content']).evalue}\n`;
    default:
      return '';
  }
}
