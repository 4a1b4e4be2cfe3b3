import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { MimeModel } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { PartialJSONObject } from '@lumino/coreutils';
import { Panel, Widget } from '@lumino/widgets';

import type { IKernelLink, ILink } from '../link/tokens';

/** A card: which run it shows and how far that had come, beside `text/html` with the card itself. */
export const CARD_MIME = 'application/vnd.autocoder-jupyter.card+json';

/** How long a card may lag behind what the kernel says of its run, in milliseconds. Updates mostly come by themselves. */
export const PAUSE = 1500;

const CUT_OFF =
  'Cut off: the kernel no longer has this run. Run the cell again; answers that the journal holds are not paid for twice.';

/** Which run a card shows, by its name and when it began; `step` changes with what it shows. */
export interface ICard {
  name: string;
  started: number;
  step: string;
  finished: boolean;
}

/**
 * Shows the HTML of a card, and keeps it true to its run.
 *
 * JupyterLab updates an output only in the page that ran its cell, and only until that is loaded anew. So the card is
 * compared with what the kernel says of the run: it catches up when it lags behind, and says when the run is gone.
 */
export class FollowedCard extends Panel implements IRenderMime.IRenderer {
  /**
   * @param notebook in which it stands; `null` outside of one, where nothing can be followed
   * @param rendermime renders the HTML
   * @param links to what the kernel says of its runs
   */
  constructor(
    private readonly _notebook: NotebookPanel | null,
    private readonly _rendermime: IRenderMimeRegistry,
    private readonly _links: ILink
  ) {
    super();
    this.addClass('jp-AutocodeCard');
    this._note.addClass('jp-AutocodeCard-note');
    this._note.node.setAttribute('role', 'status');
    this._note.hide();
    this.addWidget(this._note);
    _links.changed.connect(this._followLink, this);
    _notebook?.sessionContext.kernelChanged.connect(this._lookSoon, this);
    _notebook?.sessionContext.statusChanged.connect(this._lookSoon, this);
    this._followLink();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      clearTimeout(this._timer);
      this._link?.changed.disconnect(this._lookSoon, this);
      this._links.changed.disconnect(this._followLink, this);
      this._notebook?.sessionContext.kernelChanged.disconnect(this._lookSoon, this);
      this._notebook?.sessionContext.statusChanged.disconnect(this._lookSoon, this);
      super.dispose();
    }
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._model = model;
    this._turn++;
    clearTimeout(this._timer);
    this._timer = undefined;
    await this._show(model.data as PartialJSONObject);
    this._lookSoon();
  }

  /** Render a card, in the place of the one before. */
  private async _show(data: PartialJSONObject): Promise<void> {
    this._card = cardIn(data);
    this._sayCutOff(false);
    const mimeType = 'text/html' in data ? 'text/html' : 'text/plain';
    if (this._shown === null) {
      this._shown = this._rendermime.createRenderer(mimeType);
      this.insertWidget(0, this._shown);
    }
    const { trusted, metadata } = this._model!;
    await this._shown.renderModel(new MimeModel({ trusted, metadata, data: { [mimeType]: data[mimeType] ?? '' } }));
  }

  private _followLink(): void {
    const link = this._notebook === null ? null : this._links.forNotebook(this._notebook);
    if (link !== this._link) {
      this._link?.changed.disconnect(this._lookSoon, this);
      this._link = link;
      this._link?.changed.connect(this._lookSoon, this);
    }
    this._lookSoon();
  }

  private _lookSoon(): void {
    if (this._notebook === null || this._card === null || this._card.finished || this.isDisposed) {
      return;
    }
    this._timer ??= setTimeout(() => {
      this._timer = undefined;
      this._look();
    }, PAUSE);
  }

  private _look(): void {
    const card = this._card!;
    if (!this._notebook!.sessionContext.isReady) {
      return; // it has no kernel yet, or is about to have another
    }
    if (this._link === null || this._link.absent) {
      this._sayCutOff(true);
    } else if (this._link.heardAt > 0) {
      const job = this._link.jobs.find(({ started }) => started === card.started);
      this._sayCutOff(job === undefined);
      if (job !== undefined && job.step !== card.step) {
        void this._catchUp(this._link, card);
      }
    }
  }

  /** Ask for the card as it is now. The last one goes into the notebook, where it is saved. */
  private async _catchUp(link: IKernelLink, card: ICard): Promise<void> {
    const turn = this._turn;
    let data: PartialJSONObject;
    try {
      data = JSON.parse((await link.request('card', card.name)) ?? '{}');
    } catch {
      return; // what happens to the kernel next gives another occasion
    }
    const now = cardIn(data);
    if (this.isDisposed || turn !== this._turn || now?.started !== card.started) {
      return;
    }
    if (now.finished) {
      this._model!.setData({ data, metadata: this._model!.metadata });
    } else {
      await this._show(data);
      this._lookSoon();
    }
  }

  private _sayCutOff(cutOff: boolean): void {
    if (cutOff === this._note.isHidden) {
      this._note.setHidden(!cutOff);
      this._note.node.textContent = cutOff ? CUT_OFF : ''; // after it is there, or a screen reader says nothing
    }
    this.toggleClass('jp-mod-cutOff', cutOff);
  }

  private readonly _note = new Widget();
  private _shown: IRenderMime.IRenderer | null = null;
  private _model: IRenderMime.IMimeModel | null = null;
  private _card: ICard | null = null;
  private _link: IKernelLink | null = null;
  private _turn = 0;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}

/** Makes renderers for the cards of one notebook, or of none. */
export function cardFactory(
  notebook: NotebookPanel | null,
  rendermime: IRenderMimeRegistry,
  links: ILink
): IRenderMime.IRendererFactory {
  return {
    safe: true, // the HTML of an untrusted notebook is sanitized by what renders it
    mimeTypes: [CARD_MIME],
    createRenderer: () => new FollowedCard(notebook, rendermime, links)
  };
}

/** What an output says of its card; `null` when that is nothing to go by. */
export function cardIn(data: PartialJSONObject): ICard | null {
  const said = data[CARD_MIME];
  if (typeof said !== 'object' || said === null || Array.isArray(said)) {
    return null;
  }
  const { name, started, step, finished } = said as Partial<ICard>;
  const isWhole = typeof name === 'string' && typeof started === 'number' && typeof step === 'string';
  return isWhole && typeof finished === 'boolean' ? { name, started, step, finished } : null;
}
