import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { Message } from '@lumino/messaging';
import { Panel, Widget } from '@lumino/widgets';

import { newCell } from '../cells/first';
import type { IError } from '../cells/fix';
import { fixing } from '../cells/fix';
import own from '../errors.json';
import type { ILink } from '../link/tokens';

export const ERROR_MIME = 'application/vnd.jupyter.error';

/** The same error as text; JupyterLab shows this one. */
const TEXT_MIME = 'application/vnd.jupyter.stderr';

/** The first line of a cell of ours or in another language, and a line of ours. */
const OTHER = [/^\s*%%(?!(?:time|timeit|capture)\b)/, /^[ \t]*%autocode\b/m];

/**
 * An error as JupyterLab shows it. The name of one of ours leads to its part of the documentation. Below any other of
 * the notebook's Python, a button writes a request for what the code is meant to do.
 */
export class ErrorOutput extends Panel implements IRenderMime.IRenderer {
  constructor(
    private readonly _notebook: NotebookPanel,
    private readonly _rendermime: IRenderMimeRegistry,
    private readonly _links: ILink
  ) {
    super();
    this.addClass('jp-AutocodeError');
    this._offer.hide();
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Fix in a tested function';
    button.title = 'Write a request with this code and error into a new cell below. Nothing is run or sent.';
    button.addEventListener('click', () => void this._fix());
    this._offer.node.append(button);
    this.addWidget(this._offer);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._error = errorIn(model.data[ERROR_MIME]);
    this._look(); // the text of a long one takes JupyterLab its time
    if (this._text === null) {
      this._text = this._rendermime.createRenderer(TEXT_MIME);
      this.insertWidget(0, this._text);
    }
    await this._text.renderModel(model);
    if (this._error !== null && isOwn(this._error)) {
      linkName(this._text.node, this._error.ename);
    }
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._look();
  }

  /** Show the button where it makes sense. */
  private _look(): void {
    const code = this._notebook.content.widgets[this._place()]?.model.sharedModel.getSource();
    const isFixable = this._error !== null && this._error.ename !== 'KeyboardInterrupt' && !isOwn(this._error);
    const isPython = /python|^text\/plain$/.test(this._notebook.content.codeMimetype); // plain until it is known
    this._offer.setHidden(!(isFixable && isPython && code !== undefined && !OTHER.some(other => other.test(code))));
  }

  private async _fix(): Promise<void> {
    const { content } = this._notebook;
    const [place, error] = [this._place(), this._error];
    if (place !== -1 && error !== null) {
      const code = content.widgets[place].model.sharedModel.getSource();
      content.deselectAll();
      content.activeCellIndex = place;
      const link = this._links.forNotebook(this._notebook);
      await newCell(this._notebook, link, (names, variables) => fixing(code, error, names, variables));
    }
  }

  /** The index of the cell; -1 in a view of an output outside of the notebook. */
  private _place(): number {
    return this._notebook.content.widgets.findIndex(cell => cell.node.contains(this.node));
  }

  private readonly _offer = new Widget();
  private _text: IRenderMime.IRenderer | null = null;
  private _error: IError | null = null;
}

export function errorFactory(
  notebook: NotebookPanel,
  rendermime: IRenderMimeRegistry,
  links: ILink
): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: [ERROR_MIME],
    createRenderer: () => new ErrorOutput(notebook, rendermime, links)
  };
}

/** The error of an output; `null` if the data are not valid. */
function errorIn(data: unknown): IError | null {
  const { ename, evalue, traceback } = (data ?? {}) as Partial<IError>;
  const isWhole = typeof ename === 'string' && typeof evalue === 'string' && Array.isArray(traceback);
  return isWhole && traceback.every(frame => typeof frame === 'string') ? { ename, evalue, traceback } : null;
}

/** Whether it is one of ours, which have no stack. Others may have the same name. */
function isOwn({ ename, traceback }: IError): boolean {
  return own.names.includes(ename) && traceback[0]?.startsWith(`${ename}: `);
}

/** Make the name of an error, the first word of its text, a link to its part of the documentation. */
function linkName(node: HTMLElement, name: string): void {
  const text = document.createTreeWalker(node, NodeFilter.SHOW_TEXT).nextNode() as Text | null;
  if (text?.data.startsWith(name)) {
    text.splitText(name.length);
    const link = document.createElement('a');
    link.href = `${own.page}#${name.toLowerCase()}`;
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
    link.title = 'What this error means, in the documentation';
    text.replaceWith(link);
    link.append(text);
  }
}
