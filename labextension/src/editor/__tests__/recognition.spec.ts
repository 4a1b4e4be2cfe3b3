import type { ICellModel } from '@jupyterlab/cells';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';

import { MIME_TYPE } from '../mimeType';
import { Recognition } from '../recognition';

const PYTHON = 'text/x-ipython';

/** Languages that load when a test says so; whoever asks before that waits for the same modules. */
class Languages {
  private readonly loaded = new Map<string, () => void>();
  private readonly loading = new Map<string, Promise<void>>();

  getLanguage(mimeType: string): Promise<void> {
    const loading = this.loading.get(mimeType) ?? new Promise<void>(resolve => void this.loaded.set(mimeType, resolve));
    this.loading.set(mimeType, loading);
    return loading;
  }

  load(...mimeTypes: string[]): void {
    for (const mimeType of mimeTypes) {
      void this.getLanguage(mimeType);
      this.loaded.get(mimeType)!();
    }
  }
}

/** A cell, and an editor that shows the language which came last, as JupyterLab's does. */
class Cell {
  readonly type = 'code';
  readonly isDisposed = false;
  readonly mimeTypeChanged = new Signal<object, void>({});
  readonly sharedModel = {
    changed: new Signal<object, { sourceChange: boolean }>({}),
    getSource: () => this.source
  };
  shown = '';

  constructor(
    private readonly languages: Languages,
    private source: string
  ) {}

  /** What an editor does when it is made, and when the type changes. */
  edit(): void {
    const asked = this._mimeType;
    void this.languages.getLanguage(asked).then(() => (this.shown = asked));
  }

  get mimeType(): string {
    return this._mimeType;
  }

  set mimeType(value: string) {
    if (value !== this._mimeType) {
      this._mimeType = value;
      this.edit();
      this.mimeTypeChanged.emit();
    }
  }

  write(source: string): void {
    this.source = source;
    this.sharedModel.changed.emit({ sourceChange: true });
  }

  private _mimeType = 'text/plain';
}

function follow(languages: Languages, cell: Cell, written?: () => void): void {
  const cells = Object.assign([cell as unknown as ICellModel], { changed: new Signal<object, void>({}) });
  const content = { model: { cells }, modelChanged: new Signal<object, void>({}), codeMimetype: PYTHON };
  const recognition = new Recognition(languages as unknown as IEditorLanguageRegistry, written);
  recognition.follow({ content } as unknown as NotebookPanel);
}

const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 5));

it.each([
  ['first', [MIME_TYPE, PYTHON]],
  ['last', [PYTHON, MIME_TYPE]]
])('shows our language, which loads %s, whichever the notebook turns out to have', async (_, order) => {
  const languages = new Languages();
  const cell = new Cell(languages, '%%autocode growth\nWords');
  languages.load('text/plain');
  follow(languages, cell);
  await settled();
  cell.mimeType = PYTHON; // the notebook has learnt the kernel's language
  cell.edit(); // and makes the editor
  for (const mimeType of order) {
    languages.load(mimeType);
    await settled();
  }
  expect(cell.mimeType).toBe(MIME_TYPE);
  expect(cell.shown).toBe(MIME_TYPE);
});

it('gives a cell back its language, and leaves others alone', async () => {
  const languages = new Languages();
  languages.load('text/plain', PYTHON, MIME_TYPE);
  const [cell, other] = [new Cell(languages, '%%autocode growth\nWords'), new Cell(languages, 'x = 1')];
  cell.mimeType = other.mimeType = PYTHON;
  follow(languages, cell);
  follow(languages, other);
  await settled();
  expect([cell.shown, other.shown]).toEqual([MIME_TYPE, PYTHON]);
  cell.write('x = 2');
  other.write('%%autocode other\nWords');
  await settled();
  expect([cell.shown, other.shown]).toEqual([PYTHON, MIME_TYPE]);
});

it('tells when a person writes in a cell of ours', async () => {
  const languages = new Languages();
  languages.load('text/plain', PYTHON, MIME_TYPE);
  const [cell, other] = [new Cell(languages, '%%autocode growth\nWords'), new Cell(languages, 'x = 1')];
  const [written, otherWritten] = [jest.fn(), jest.fn()];
  follow(languages, cell, written);
  follow(languages, other, otherWritten);
  await settled();
  expect(written).not.toHaveBeenCalled();
  cell.write('%%autocode growth\nOther words');
  other.write('x = 2');
  expect(written).toHaveBeenCalledTimes(1);
  expect(otherWritten).not.toHaveBeenCalled();
});
