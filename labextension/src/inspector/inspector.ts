import type { NotebookPanel } from '@jupyterlab/notebook';
import { OutputAreaModel, SimplifiedOutputArea } from '@jupyterlab/outputarea';
import type { Message } from '@lumino/messaging';
import { Panel, Widget } from '@lumino/widgets';

import { ActionListener } from '../outputs/actions';
import { insertAtEnd, runBelow } from '../cells/place';

/** The output of `%autocode show NAME` beside the notebook, rendered as in the notebook. */
export class Inspector extends Panel {
  /**
   * @param name the name of the result
   * @param notebook the notebook whose kernel and renderers are used
   * @param execute executes a command of the page for a result
   */
  constructor(
    readonly name: string,
    readonly notebook: NotebookPanel,
    execute: (action: string, name: string) => void
  ) {
    super();
    this.addClass('jp-AutocodeInspector');
    this._note.addClass('jp-AutocodeInspector-note');
    this._note.node.setAttribute('role', 'status');
    this._output = new SimplifiedOutputArea({
      model: new OutputAreaModel({ trusted: true }),
      rendermime: notebook.content.rendermime
    });
    this.addWidget(this._note);
    this.addWidget(this._output);
    this._actions = new ActionListener(
      this.node,
      source => insertAtEnd(notebook, source),
      source => runBelow(notebook, notebook.content.widgets.length - 1, source),
      () => undefined,
      execute
    );
    notebook.disposed.connect(this.dispose, this);
  }

  /** Ask the kernel again. It answers when it is idle. */
  async refresh(): Promise<void> {
    const kernel = this.notebook.sessionContext.session?.kernel;
    if (!kernel) {
      this._say('The notebook has no kernel.');
      return;
    }
    this._say(kernel.status === 'busy' ? 'Waiting for the kernel, which is busy…' : '');
    const future = kernel.requestExecute({
      code: `%autocode show ${this.name}`,
      store_history: false,
      stop_on_error: false
    });
    this._output.future = future;
    try {
      await future.done;
      this._say('');
    } catch {
      this._say('The kernel stopped before it answered.');
    }
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._actions.dispose();
      this.notebook.disposed.disconnect(this.dispose, this);
      super.dispose();
    }
  }

  protected override onActivateRequest(_message: Message): void {
    this.node.tabIndex = -1;
    this.node.focus();
  }

  private _say(words: string): void {
    if (!this.isDisposed) {
      this._note.node.textContent = words;
      this._note.setHidden(words === '');
    }
  }

  private readonly _note = new Widget();
  private readonly _output: SimplifiedOutputArea;
  private readonly _actions: ActionListener;
}
