import type { ICellModel } from '@jupyterlab/cells';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';

import { isAutocode } from './cell';
import { MIME_TYPE } from './mimeType';

/**
 * Sets our language for cells that start with `%%autocode`, and the kernel's language for all others.
 *
 * The language of an editor follows the MIME type of its model. Our extensions are not active in other cells.
 */
export class Recognition {
  private readonly followed = new WeakSet<ICellModel>();

  /**
   * @param languages the registry with our language
   * @param written called when the user writes in an `%%autocode` cell
   */
  constructor(
    private readonly languages: IEditorLanguageRegistry,
    private readonly written: (panel: NotebookPanel) => void = () => undefined
  ) {}

  /** Handle all cells of a notebook, also future ones. */
  follow(panel: NotebookPanel): void {
    void this.languages.getLanguage(MIME_TYPE); // load it before the first cell needs it
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
   * An editor uses the language that was loaded last, not the one that was requested last. So our language is requested
   * after the previous one was loaded. If the cell changed in the meantime, that change calls this method again.
   */
  private async change(cell: ICellModel): Promise<void> {
    const before = cell.mimeType;
    await Promise.all([before, MIME_TYPE].map(language => this.languages.getLanguage(language)));
    await new Promise(resolve => setTimeout(resolve)); // the editor may wait for the same modules
    if (!cell.isDisposed && cell.mimeType === before && isAutocode(cell.sharedModel.getSource())) {
      cell.mimeType = MIME_TYPE;
    }
  }
}
