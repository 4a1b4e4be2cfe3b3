import type { CodeMirrorEditor } from '@jupyterlab/codemirror';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { StateEffect } from '@codemirror/state';
import type { EditorView, ViewUpdate } from '@codemirror/view';

import type { IKernelLink, ILink, IVariable } from '../link/tokens';
import type { IVocabulary } from '../vocabulary';
import { VOCABULARY } from '../vocabulary';
import { MIME_TYPE } from './mimeType';

/** The vocabulary and the variables for a cell. */
export interface IKnown {
  vocabulary: IVocabulary;
  /** `null` until the kernel has sent them. */
  variables: readonly IVariable[] | null;
  /** The other variables of the notebook, and their types. */
  others: { readonly [name: string]: string };
  /** Whether the kernel is known to run without the extension, and no cell of the notebook loads it. */
  absent: boolean;
}

/** The data before a kernel has sent any. */
export const UNKNOWN: IKnown = { vocabulary: VOCABULARY, variables: null, others: {}, absent: false };

const learned = StateEffect.define<null>();

/** Tells an editor that the data changed. */
export function tellNews(view: EditorView): void {
  view.dispatch({ effects: learned.of(null) });
}

/** Whether an editor was told that the data changed. */
export function isNews(update: ViewUpdate): boolean {
  return update.transactions.some(transaction => transaction.effects.some(effect => effect.is(learned)));
}

/** The data of the kernels of open notebooks, for the editors of their cells. */
export class Knowledge {
  private readonly followed = new WeakMap<IKernelLink, IKnown>();
  private readonly homes = new WeakMap<EditorView, NotebookPanel>();

  constructor(
    private readonly notebooks: INotebookTracker,
    private readonly link: ILink | null
  ) {
    notebooks.widgetAdded.connect((_, panel) => this.follow(panel));
    notebooks.forEach(panel => this.follow(panel));
    link?.changed.connect(() => notebooks.forEach(panel => this.follow(panel)));
  }

  /** For the cells of a notebook. */
  of(panel: NotebookPanel | undefined): IKnown {
    const link = panel === undefined ? null : (this.link?.forNotebook(panel) ?? null);
    return panel === undefined || link === null ? UNKNOWN : { ...known(link), absent: link.absent && !loads(panel) };
  }

  /** For the cell of an editor. */
  for(view: EditorView): IKnown {
    return this.of(this.homeOf(view));
  }

  /** The link to the kernel of the notebook of an editor. */
  linkOf(view: EditorView): IKernelLink | null {
    const home = this.homeOf(view);
    return home === undefined ? null : (this.link?.forNotebook(home) ?? null);
  }

  private homeOf(view: EditorView): NotebookPanel | undefined {
    const home = this.homes.get(view) ?? this.notebooks.find(panel => viewsOf(panel).includes(view));
    if (home !== undefined) {
      this.homes.set(view, home);
    }
    return home;
  }

  private follow(panel: NotebookPanel): void {
    const link = this.link?.forNotebook(panel) ?? null;
    if (link !== null && !this.followed.has(link)) {
      this.followed.set(link, known(link));
      link.changed.connect(this.onLinkChanged, this);
    }
    tell(panel);
  }

  /** Links change several times a second because of jobs; editors are told only about variables and vocabulary. */
  private onLinkChanged(link: IKernelLink): void {
    const before = this.followed.get(link);
    const now = known(link);
    if (before?.variables === now.variables && before.vocabulary === now.vocabulary && before.absent === now.absent) {
      return;
    }
    this.followed.set(link, now);
    this.notebooks.filter(panel => this.link?.forNotebook(panel) === link).forEach(tell);
  }
}

function known({ vocabulary, variables, others, absent }: IKernelLink): IKnown {
  return { vocabulary, variables, others, absent };
}

/** Whether a cell of the notebook loads the extension, so that it only needs to be run. */
function loads({ model }: NotebookPanel): boolean {
  return [...(model?.cells ?? [])].some(({ sharedModel }) => LOADS.test(sharedModel.getSource()));
}

const LOADS = /^\s*%(re)?load_ext\s+autocoder_jupyter\b/m;

function tell(panel: NotebookPanel): void {
  viewsOf(panel, MIME_TYPE).forEach(tellNews);
}

/** The editors of the cells of a notebook, also of cells that are not rendered; optionally of one language. */
function viewsOf(panel: NotebookPanel, mimeType?: string): EditorView[] {
  return panel.content.widgets.flatMap(({ model, editor }) =>
    editor !== null && (mimeType === undefined || model.mimeType === mimeType)
      ? [(editor as CodeMirrorEditor).editor]
      : []
  );
}
