import type { ICellModel } from '@jupyterlab/cells';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';

import { isAutocode } from './cell';
import { MIME_TYPE } from './mimeType';

/**
 * Gives cells our language while they begin with `%%autocode`, and the kernel's otherwise.
 *
 * The language of an editor follows the MIME type of its model, so this is all; nothing of ours runs in other cells.
 */
export class Recognition {
  private readonly followed = new WeakSet<ICellModel>();

  /**
   * @param languages knows ours
   * @param written is told when a person writes in a cell of ours
   */
  constructor(
    private readonly languages: IEditorLanguageRegistry,
    private readonly written: (panel: NotebookPanel) => void = () => undefined
  ) {}

  /** All cells of a notebook, those to come included. */
  follow(panel: NotebookPanel): void {
    void this.languages.getLanguage(MIME_TYPE); // so that it is there when the first cell needs it
    panel.content.modelChanged.connect(() => this.followNotebook(panel));
    this.followNotebook(panel);
  }

  private followNotebook(panel: NotebookPanel): void {
    const model = panel.content.model;
    if (model !== null) {
      model.cells.changed.connect(() => this.followCells(model, panel));
      this.followCells(model, panel);
    }
  }

  private followCells({ cells }: INotebookModel, panel: NotebookPanel): void {
    for (const cell of cells) {
      if (cell.type === 'code' && !this.followed.has(cell)) {
        this.followed.add(cell);
        cell.sharedModel.changed.connect((_, change) => {
          if (change.sourceChange) {
            this.recognise(cell, panel);
            if (cell.mimeType === MIME_TYPE) {
              this.written(panel);
            }
          }
        });
        cell.mimeTypeChanged.connect(() => this.recognise(cell, panel));
        this.recognise(cell, panel);
      }
    }
  }

  private recognise(cell: ICellModel, panel: NotebookPanel): void {
    const ours = isAutocode(cell.sharedModel.getSource());
    if (ours === (cell.mimeType === MIME_TYPE)) {
      return;
    }
    if (ours) {
      void this.change(cell);
    } else {
      cell.mimeType = panel.content.codeMimetype;
    }
  }

  /**
   * An editor shows the language that came last, not the one that was asked for last. So ours is asked for only when
   * the one before it is there; where the cell got another one meanwhile, that change brings us here again.
   */
  private async change(cell: ICellModel): Promise<void> {
    const before = cell.mimeType;
    await Promise.all([before, MIME_TYPE].map(language => this.languages.getLanguage(language)));
    await new Promise(resolve => setTimeout(resolve)); // the editor waits for the same modules, perhaps behind us
    if (!cell.isDisposed && cell.mimeType === before && isAutocode(cell.sharedModel.getSource())) {
      cell.mimeType = MIME_TYPE;
    }
  }
}
