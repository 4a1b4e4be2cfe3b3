import type { JupyterFrontEnd, LabShell } from '@jupyterlab/application';
import { MainAreaWidget, ToolbarButton } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { refreshIcon } from '@jupyterlab/ui-components';
import { UUID } from '@lumino/coreutils';
import type { Widget } from '@lumino/widgets';

import { ACT_ICONS } from '../icons';
import type { IKernelLink, ILink } from '../link/tokens';
import { isUnderWay } from '../results/entries';
import { Inspector } from './inspector';

type InspectorPage = MainAreaWidget<Inspector>;

/** Opens inspectors: one for each result of each notebook. */
export class Inspectors {
  /**
   * @param shell the shell to which inspectors are added
   * @param labShell the shell of JupyterLab; `null` in Jupyter Notebook, whose main area has only one document
   * @param links the links to kernels, to know when a run has ended
   * @param execute executes a command of the page for a result
   */
  constructor(
    private readonly _shell: JupyterFrontEnd.IShell,
    private readonly _labShell: LabShell | null,
    private readonly _links: ILink,
    private readonly _execute: (action: string, name: string) => void
  ) {}

  /** Show the inspector of a result with the current state of the kernel. */
  open(notebook: NotebookPanel, name: string): void {
    const page = this._find(notebook, name) ?? this._make(notebook, name);
    this._shell.activateById(page.id);
    void page.content.refresh();
  }

  private _find(notebook: NotebookPanel, name: string): InspectorPage | undefined {
    return this._open.find(({ content }) => content.notebook === notebook && content.name === name);
  }

  private _make(notebook: NotebookPanel, name: string): InspectorPage {
    const content = new Inspector(name, notebook, this._execute);
    const page = new MainAreaWidget({ content });
    page.node.addEventListener('keydown', event => {
      // A field may use the key itself, as the box for a wish does.
      if (event.key === 'Escape' && !(event.target as Element).matches('input, select, textarea')) {
        this._shell.activateById(notebook.id);
      }
    });
    page.id = `autocoder-jupyter-inspector-${UUID.uuid4()}`;
    page.title.label = `${name} – inspector`;
    page.title.caption = `The function ${name} of ${notebook.title.label} and its tests`;
    page.title.icon = ACT_ICONS.inspect;
    page.title.closable = true;
    page.toolbar.addItem(
      'refresh',
      new ToolbarButton({ icon: refreshIcon, tooltip: 'Ask the kernel again', onClick: () => void content.refresh() })
    );
    const watch = new EndOfRun(name, () => void content.refresh());
    const follow = (): void => watch.follow(this._links.forNotebook(notebook));
    this._links.changed.connect(follow);
    follow();
    content.disposed.connect(() => page.dispose());
    page.disposed.connect(() => {
      this._links.changed.disconnect(follow);
      watch.follow(null);
      this._open = this._open.filter(other => other !== page);
    });
    this._open.push(page);
    placeBeside(this._shell, this._labShell, page, notebook);
    return page;
  }

  private _open: InspectorPage[] = [];
}

/** Add a page beside a notebook. */
export function placeBeside(
  shell: JupyterFrontEnd.IShell,
  labShell: LabShell | null,
  page: Widget,
  notebook: NotebookPanel
): void {
  // If the main area shows one document at a time, the page would hide the notebook.
  if (labShell?.mode === 'multiple-document') {
    shell.add(page, 'main', { ref: notebook.id, mode: 'split-right' });
  } else {
    shell.add(page, 'down');
  }
}

/** Calls back when a run of a result has ended. */
class EndOfRun {
  constructor(
    private readonly _name: string,
    private readonly _ended: () => void
  ) {}

  follow(link: IKernelLink | null): void {
    if (link !== this._link) {
      this._link?.changed.disconnect(this._look, this);
      this._link = link;
      this._link?.changed.connect(this._look, this);
      this._wasUnderWay = this._isUnderWay();
    }
  }

  private _look(): void {
    const underWay = this._isUnderWay();
    const job = this._link?.jobs.find(job => job.name === this._name);
    if (this._wasUnderWay && !underWay && job !== undefined) {
      this._ended();
    }
    this._wasUnderWay = underWay;
  }

  private _isUnderWay(): boolean {
    return isUnderWay(this._link?.jobs.find(job => job.name === this._name) ?? null);
  }

  private _link: IKernelLink | null = null;
  private _wasUnderWay = false;
}
