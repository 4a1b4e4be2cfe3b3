import type { JupyterFrontEnd, LabShell } from '@jupyterlab/application';
import { Dialog, MainAreaWidget, Notification, ToolbarButton, showDialog } from '@jupyterlab/apputils';
import type { IEditorServices } from '@jupyterlab/codeeditor';
import { CodeEditor, CodeEditorWrapper } from '@jupyterlab/codeeditor';
import type { Message } from '@lumino/messaging';
import { SplitPanel } from '@lumino/widgets';

import { executeInCell, reveal } from '../cells/place';
import { ACT_ICONS } from '../icons';
import type { IKernelLink } from '../link/tokens';
import type { ITarget } from '../commands/target';
import { placeBeside } from './inspectors';

const HELP =
  'Your text is tested in the sandbox as it is. No model is asked, and nothing is fixed. It becomes a new version.';

/** Opens the code of functions and their tests in JupyterLab's editor. */
export class CodeEditors {
  constructor(
    private readonly _shell: JupyterFrontEnd.IShell,
    private readonly _labShell: LabShell | null,
    private readonly _services: IEditorServices
  ) {}

  /** Open the code and the tests of a result, as they are on disk. What is open already stays as it was edited. */
  async open(target: ITarget, link: IKernelLink): Promise<void> {
    const { notebook, entry } = target;
    const id = `autocoder-jupyter-editor-${notebook.id}-${entry.name}`;
    if (!this._open.has(id)) {
      const sources = JSON.parse((await link.request('sources', entry.name)) ?? '{}') as ISources;
      const page = new CodePage(this._services, sources, target, link);
      page.id = id;
      page.disposed.connect(() => this._open.delete(id));
      notebook.disposed.connect(page.dispose, page);
      this._open.add(id);
      placeBeside(this._shell, this._labShell, page, notebook);
    }
    this._shell.activateById(id);
  }

  private readonly _open = new Set<string>();
}

interface ISources {
  code: string;
  tests: string;
}

/** Code and tests below each other, with a button that tests them. */
class CodePage extends MainAreaWidget<SplitPanel> {
  constructor(
    services: IEditorServices,
    private _tested: ISources,
    private readonly _target: ITarget,
    private readonly _link: IKernelLink
  ) {
    super({ content: new SplitPanel({ orientation: 'vertical' }) });
    const { name } = _target.entry;
    this.title.label = `${name} – code`;
    this.title.caption = `The code of ${name} and its tests`;
    this.title.icon = ACT_ICONS.edit;
    this.title.closable = true;
    this._code = this._add(services, _tested.code, `Code of ${name}`);
    this._tests = this._add(services, _tested.tests, `Tests of ${name}`);
    this.content.setRelativeSizes([2, 1]);
    this.content.addClass('jp-AutocodeCode');
    this.toolbar.addItem(
      'test',
      new ToolbarButton({ label: 'Test it', tooltip: HELP, onClick: () => void this._test() })
    );
  }

  protected override onCloseRequest(message: Message): void {
    const close = (): void => super.onCloseRequest(message);
    if (!this._isEdited) {
      close();
      return;
    }
    void showDialog({
      title: 'Close without testing?',
      body: `Your edits of ${this._target.entry.name} will be lost.`,
      buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Close' })]
    }).then(answer => answer.button.accept && close());
  }

  private _add(services: IEditorServices, source: string, label: string): CodeEditor.IModel {
    const model = new CodeEditor.Model({ mimeType: 'text/x-python' });
    model.sharedModel.setSource(source);
    model.sharedModel.changed.connect(this._mark, this);
    const { newDocumentEditor } = services.factoryService;
    const wrapper = new CodeEditorWrapper({
      model,
      factory: options => newDocumentEditor({ ...options, config: { ...options.config, lineNumbers: true } })
    });
    wrapper.node.setAttribute('role', 'region');
    wrapper.node.setAttribute('aria-label', label);
    wrapper.disposed.connect(() => model.dispose());
    this.content.addWidget(wrapper);
    return model;
  }

  /** Give the text to the kernel, and test it in the cell of the function. */
  private async _test(): Promise<void> {
    const { notebook, entry } = this._target;
    if (!this._isEdited) {
      Notification.info(`The code and the tests of ${entry.name} were not edited.`, { autoClose: 4000 });
      return;
    }
    const edited = this._edited;
    try {
      await this._link.request('edit', entry.name, { ...edited });
    } catch (error) {
      Notification.error(error instanceof Error ? error.message : String(error));
      return;
    }
    this._tested = edited;
    this._mark();
    reveal(notebook, entry.cellId ?? '');
    await executeInCell(notebook, entry.cellId, `%autocode retest ${entry.name}`);
  }

  private _mark(): void {
    this.title.className = this._isEdited ? 'jp-mod-dirty' : '';
  }

  private get _edited(): ISources {
    return { code: this._code.sharedModel.getSource(), tests: this._tests.sharedModel.getSource() };
  }

  private get _isEdited(): boolean {
    const { code, tests } = this._edited;
    return code !== this._tested.code || tests !== this._tested.tests;
  }

  private readonly _code: CodeEditor.IModel;
  private readonly _tests: CodeEditor.IModel;
}
