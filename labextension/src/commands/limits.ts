import { Dialog, InputDialog } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';

import { withOption } from '../cells/option';
import { indexOf, reveal } from '../cells/place';
import type { IEntry } from '../results/entries';
import { VOCABULARY } from '../vocabulary';

/** JupyterLab's fields for numbers show an amount that is not a whole number as invalid. */
const ANY_NUMBER = new (class extends Dialog.Renderer {
  override createBody(body: Dialog.Body<unknown>): Widget {
    const made = super.createBody(body);
    made.node.querySelector('input[type=number]')?.setAttribute('step', 'any');
    return made;
  }
})();

/** Ask for a higher limit, write it into the cell and activate the cell; false if the user cancelled. */
export async function raiseLimit(notebook: NotebookPanel, { cellId, job, name }: IEntry): Promise<boolean> {
  const cell = notebook.content.widgets[indexOf(notebook, cellId)];
  if (cell === undefined || job === null || job.limit_next === null) {
    throw new Error(`The cell of ${name} is not in this notebook any more.`);
  }
  const option = VOCABULARY.options.find(option => option.name === job.limit)!;
  const asked = await InputDialog.getNumber({
    title: `Run ${name} again with a higher limit`,
    label: `${option.flags.at(-1)}: ${option.help} (it was ${job.limit_value}). The answers so far are replayed at no cost.`,
    value: job.limit_next,
    renderer: ANY_NUMBER,
    okLabel: 'Run again'
  });
  if (!asked.button.accept || !asked.value || asked.value <= 0) {
    return false;
  }
  const source = withOption(cell.model.sharedModel.getSource(), job.limit, String(asked.value), VOCABULARY);
  if (source === null) {
    throw new Error(
      `The options of the cell cannot be parsed. Add ${option.flags.at(-1)} ${asked.value} to its first line.`
    );
  }
  cell.model.sharedModel.setSource(source);
  return reveal(notebook, cell.model.id);
}

/** Ask for the prices of a model, in US dollars for a million tokens; `null` if the user cancelled. */
export async function askForPrices(name: string): Promise<[number, number] | null> {
  const prices: number[] = [];
  for (const kind of ['input', 'output']) {
    const asked = await InputDialog.getNumber({
      title: `The price of the model of ${name}`,
      label: `US dollars for a million ${kind} tokens. They count until the kernel ends.`,
      value: 0,
      renderer: ANY_NUMBER,
      okLabel: kind === 'input' ? 'Next' : 'Run'
    });
    if (!asked.button.accept || asked.value === null || !(asked.value >= 0)) {
      return null;
    }
    prices.push(asked.value);
  }
  return [prices[0], prices[1]];
}
