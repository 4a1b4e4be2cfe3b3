import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { MimeModel } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { PartialJSONObject } from '@lumino/coreutils';
import { Panel, Widget } from '@lumino/widgets';

import { restoreCharts } from '../charts/places';
import type { IJob, IKernelLink, ILink } from '../link/tokens';
import { isUnderWay } from '../results/entries';
import { reachScrolled } from './focus';
import type { MakeModelForm, ModelForm } from './modelForm';
import type { Commands } from './strip';
import { Strip } from './strip';

/** The run of an output and its progress; the output also has `text/html` with the state of that moment. */
export const FOLLOWED_MIME = 'application/vnd.autocoder-jupyter.followed+json';

/** How long an output may be behind the state of its run, in milliseconds. Usually updates come earlier. */
export const PAUSE = 1500;

const INTERRUPTED =
  'Interrupted: the kernel no longer has this run. Run the cell again; recorded answers are not paid for again.';

/** The text that says what a run does. */
const UNDER_WAY = '.autocode-under-way';

/** The run that an output shows, by name and start; `step` changes with the content of the card. */
export interface IFollowed {
  /** The card of the run, or a placeholder for its result. */
  shows: 'card' | 'result';
  name: string;
  started: number;
  step: string;
  finished: boolean;
}

/**
 * Shows the HTML of a card or of a pending result, and keeps it up to date.
 *
 * JupyterLab updates an output only in the page that ran its cell, and only until that page is reloaded. So the output
 * is compared with the state of the run in the kernel. It is updated when it is behind, and shows a note when the run
 * no longer exists.
 */
export class FollowedOutput extends Panel implements IRenderMime.IRenderer {
  /**
   * @param notebook the notebook of the output; `null` outside of a notebook, where there are no updates
   * @param rendermime renders the HTML
   * @param links the links to kernels
   * @param commands the commands of the page, for the buttons
   * @param makeModelForm makes the form of a card whose model could not be asked
   */
  constructor(
    private readonly _notebook: NotebookPanel | null,
    private readonly _rendermime: IRenderMimeRegistry,
    private readonly _links: ILink,
    commands: Commands,
    private readonly _makeModelForm: MakeModelForm | null = null
  ) {
    super();
    this._strip = new Strip(commands);
    this.addWidget(this._strip);
    this.addClass('jp-AutocodeFollowed');
    this._note.addClass('jp-AutocodeFollowed-note');
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
      this._link?.changed.disconnect(this._onLink, this);
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
    this._onLink();
  }

  /** Render data in place of the previous content. */
  private async _show(data: PartialJSONObject): Promise<void> {
    this._showInterrupted(false);
    this._followed = followedIn(data);
    const mimeType = 'text/html' in data ? 'text/html' : 'text/plain';
    if (this._shown === null) {
      this._shown = this._rendermime.createRenderer(mimeType);
      this.insertWidget(0, this._shown);
    }
    const { trusted, metadata } = this._model!;
    await this._shown.renderModel(new MimeModel({ trusted, metadata, data: { [mimeType]: data[mimeType] ?? '' } }));
    restoreCharts(this._shown.node, data['text/html']);
    reachScrolled(this._shown.node);
  }

  private _followLink(): void {
    const link = this._notebook === null ? null : this._links.forNotebook(this._notebook);
    if (link !== this._link) {
      this._link?.changed.disconnect(this._onLink, this);
      this._link = link;
      this._link?.changed.connect(this._onLink, this);
    }
    this._onLink();
  }

  private _onLink(): void {
    this._offer();
    this._lookSoon();
  }

  /** Update the buttons to the state of the run. */
  private _offer(): void {
    const isCard = this._followed?.shows === 'card';
    const job = isCard && this._link !== null ? runOf(this._followed!, this._link) : null;
    this._strip.offer(job);
    this._askForModel(job);
    this.toggleClass('jp-mod-underWay', isUnderWay(job));
  }

  /** Show the form for a model below the card that asks for one. What was typed in it stays while the run is the same. */
  private _askForModel(job: IJob | null): void {
    const isAsked = job?.actions.includes('choose-model') ?? false;
    if (!isAsked) {
      this._modelForm?.dispose();
      this._modelForm = null;
    } else if (this._modelForm === null && this._makeModelForm !== null) {
      this._modelForm = this._makeModelForm(job!);
      this._strip.place.addWidget(this._modelForm);
    }
  }

  private _lookSoon(): void {
    if (this._notebook === null || this._followed === null || this._followed.finished || this.isDisposed) {
      return;
    }
    this._timer ??= setTimeout(() => {
      this._timer = undefined;
      this._look();
    }, PAUSE);
  }

  private _look(): void {
    const followed = this._followed!;
    const { sessionContext } = this._notebook!;
    if (!sessionContext.isReady) {
      // There is no kernel yet, or it is being replaced; or the notebook was opened without one.
      void sessionContext.initialize().then(mustSelect => {
        if (mustSelect && sessionContext.session === null && !this.isDisposed && followed === this._followed) {
          this._showInterrupted(true);
        }
      });
      return;
    }
    if (this._link === null || this._link.absent) {
      this._showInterrupted(true);
    } else if (this._link.heardAt > 0) {
      const job = runOf(followed, this._link);
      this._showInterrupted(job === null);
      const lags = followed.shows === 'card' ? job?.step !== followed.step : !isUnderWay(job);
      if (job !== null && lags) {
        void this._catchUp(this._link, followed);
      }
    }
  }

  /** Get the current content from the kernel. Final content is written into the notebook, which saves it. */
  private async _catchUp(link: IKernelLink, followed: IFollowed): Promise<void> {
    const turn = this._turn;
    const data = await ask(link, followed);
    if (data === null || this.isDisposed || turn !== this._turn) {
      return; // the next change of the kernel or the output tries again
    }
    const now = followedIn(data);
    const isOfAnother = now === null ? runOf(followed, link) === null : now.started !== followed.started;
    if (isOfAnother) {
      return;
    }
    if (now === null || now.finished) {
      this._model!.setData({ data, metadata: this._model!.metadata });
    } else {
      await this._show(data);
      this._lookSoon();
    }
  }

  private _showInterrupted(isInterrupted: boolean): void {
    if (isInterrupted === this._note.isHidden) {
      this._note.setHidden(!isInterrupted);
      this._note.node.textContent = isInterrupted ? INTERRUPTED : ''; // after it is visible, or screen readers do not announce it
    }
    this.toggleClass('jp-mod-interrupted', isInterrupted);
    const title = this._shown?.node.querySelector(UNDER_WAY);
    if (title && isInterrupted === (this._title === null)) {
      const words = this._followed?.shows === 'result' ? `${this._followed.name} was interrupted.` : '● Interrupted';
      [this._title, title.textContent] = isInterrupted ? [title.textContent, words] : [null, this._title];
    }
  }

  private readonly _strip: Strip;
  private _modelForm: ModelForm | null = null;
  private readonly _note = new Widget();
  private _shown: IRenderMime.IRenderer | null = null;
  private _model: IRenderMime.IMimeModel | null = null;
  private _followed: IFollowed | null = null;
  private _link: IKernelLink | null = null;
  /** The text that `● Interrupted` replaces; `null` if it does not. */
  private _title: string | null = null;
  private _turn = 0;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}

/** Makes renderers for the outputs of one notebook, or of none. */
export function followedFactory(
  notebook: NotebookPanel | null,
  rendermime: IRenderMimeRegistry,
  links: ILink,
  commands: Commands,
  makeModelForm: MakeModelForm | null = null
): IRenderMime.IRendererFactory {
  return {
    safe: true, // the HTML renderer sanitizes the HTML of untrusted notebooks
    mimeTypes: [FOLLOWED_MIME],
    createRenderer: () => new FollowedOutput(notebook, rendermime, links, commands, makeModelForm)
  };
}

/** The run of an output; `null` if the data are not valid. */
export function followedIn(data: PartialJSONObject): IFollowed | null {
  const said = data[FOLLOWED_MIME];
  if (typeof said !== 'object' || said === null || Array.isArray(said)) {
    return null;
  }
  const { shows, name, started, step, finished } = said as Partial<IFollowed>;
  const isWhole = typeof name === 'string' && typeof started === 'number' && typeof step === 'string';
  return isWhole && typeof finished === 'boolean' && (shows === 'card' || shows === 'result')
    ? { shows, name, started, step, finished }
    : null;
}

/** The job of that run in the kernel; `null` if the kernel does not have it. */
function runOf({ started }: IFollowed, link: IKernelLink): IJob | null {
  return link.jobs.find(job => job.started === started) ?? null;
}

/** The current output from the kernel; `null` if the request fails. */
async function ask(link: IKernelLink, { shows, name }: IFollowed): Promise<PartialJSONObject | null> {
  try {
    return JSON.parse((await link.request(shows, name)) ?? 'null');
  } catch {
    return null;
  }
}
