import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { MimeModel } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { Kernel } from '@jupyterlab/services';
import { Panel } from '@lumino/widgets';

import { restoreCharts } from '../charts/places';
import { KernelProcess } from '../link/processes';
import { reachScrolled } from './focus';

/** A finished result: the id of its widget; the output also has `text/html`, which needs no kernel. */
export const OUR_WIDGET_MIME = 'application/vnd.autocoder-jupyter.widget+json';

const WIDGET_MIME = 'application/vnd.jupyter.widget-view+json';
const WIDGET_TARGET = 'jupyter.widget';

/** Number of attempts to find the widget manager, and milliseconds between them; it starts soon after the kernel. */
const LOOKS = 40;
const PAUSE = 250;

/** Time limit for creating the view of a widget, in milliseconds. */
const PATIENCE = 3000;

/**
 * Shows a result as a widget if the kernel still has it, and as HTML otherwise.
 *
 * The HTML is shown until the widget is ready, and again after the kernel ended, so the output is never empty.
 */
export class LivingWidget extends Panel implements IRenderMime.IRenderer {
  /**
   * @param notebook the notebook of the output; `null` outside of a notebook, where there are no widgets
   * @param rendermime renders both forms
   * @param common the registry from which that of the notebook was cloned; its widget renderer has no kernel
   */
  constructor(
    private readonly _notebook: NotebookPanel | null,
    private readonly _rendermime: IRenderMimeRegistry,
    private readonly _common: IRenderMimeRegistry
  ) {
    super();
    this.addClass('jp-AutocodeResult');
    if (_notebook !== null) {
      this._process = new KernelProcess(_notebook.sessionContext);
      this._process.ended.connect(this._onKernelChanged, this);
      this._process.replaced.connect(this._onKernelChanged, this);
    }
    _notebook?.sessionContext.kernelChanged.connect(this._onKernelChanged, this);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._process?.dispose();
      this._notebook?.sessionContext.kernelChanged.disconnect(this._onKernelChanged, this);
      super.dispose();
    }
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const turn = ++this._turn;
    this._model = model;
    const id = this._offeredWidget();
    // If this page already knows the widget, the HTML is not shown first.
    const shown = id !== null && this._kernel?.hasComm(id) === true && (await this._showWidget(id, turn));
    if (!shown) {
      await this._showHtmlFirst(turn);
    }
  }

  private async _showHtmlFirst(turn: number): Promise<void> {
    await this._showHtml(turn);
    const id = this._offeredWidget();
    if (id !== null) {
      void this._awaitWidget(id, turn);
    }
  }

  /** The id of the widget, whether or not it exists in the kernel. */
  private _offeredWidget(): string | null {
    return this._notebook !== null && this._model?.trusted ? widgetId(this._model) : null;
  }

  /** Wait for a widget that the kernel created before this page was loaded. */
  private async _awaitWidget(id: string, turn: number): Promise<void> {
    const notebook = this._notebook!;
    await notebook.sessionContext.ready;
    const kernel = this._kernel;
    if (!kernel || this._isOver(turn) || !(await isAlive(kernel, id))) {
      return;
    }
    for (let look = 0; look < LOOKS && !this._isOver(turn) && kernel === this._kernel; look++) {
      if (kernel.hasComm(id) && (await this._showWidget(id, turn))) {
        return;
      }
      await new Promise(resolve => setTimeout(resolve, PAUSE));
    }
  }

  /** Create the view of the widget invisibly, and show it if that succeeds. */
  private async _showWidget(id: string, turn: number): Promise<boolean> {
    const factory = this._rendermime.getFactory(WIDGET_MIME);
    if (factory === undefined || factory === this._common.getFactory(WIDGET_MIME)) {
      return false;
    }
    const renderer = this._rendermime.createRenderer(WIDGET_MIME) as IRenderMime.IRenderer & Panel;
    const data = { [WIDGET_MIME]: { version_major: 2, version_minor: 0, model_id: id } };
    const rendered = renderer.renderModel(new MimeModel({ trusted: true, data })).then(() => true);
    const timely = await Promise.race([rendered, new Promise<false>(done => setTimeout(() => done(false), PATIENCE))]);
    if (!timely || this._isOver(turn) || !(renderer.widgets?.length > 0)) {
      renderer.dispose();
      return false;
    }
    renderer.widgets[0].disposed.connect(() => {
      if (!this._isOver(turn)) {
        void this._showHtml(turn);
      }
    });
    this._put(renderer);
    return true;
  }

  private async _showHtml(turn: number): Promise<void> {
    const { data, metadata, trusted } = this._model!;
    const mimeType = 'text/html' in data ? 'text/html' : 'text/plain';
    // eslint-disable-next-line jupyter/require-disposable-transfer -- `_put` makes it a child
    const renderer = this._rendermime.createRenderer(mimeType);
    await renderer.renderModel(new MimeModel({ trusted, metadata, data: { [mimeType]: data[mimeType] ?? '' } }));
    if (this._isOver(turn)) {
      renderer.dispose();
    } else {
      this._put(renderer);
      restoreCharts(renderer.node, data['text/html']);
      reachScrolled(renderer.node);
    }
  }

  private _put(renderer: IRenderMime.IRenderer): void {
    const before = [...this.widgets];
    this.addWidget(renderer);
    for (const widget of before) {
      widget.dispose();
    }
  }

  /** The kernel or its process was replaced: forget what is known of the widget. */
  private _onKernelChanged(): void {
    if (this._model !== null && !this.isDisposed) {
      void this._showHtmlFirst(++this._turn);
    }
  }

  private _isOver(turn: number): boolean {
    return this.isDisposed || turn !== this._turn;
  }

  private get _kernel(): Kernel.IKernelConnection | null | undefined {
    return this._notebook?.sessionContext.session?.kernel;
  }

  private readonly _process: KernelProcess | null = null;
  private _model: IRenderMime.IMimeModel | null = null;
  private _turn = 0;
}

/** Makes renderers for the outputs of one notebook, or of none. */
export function widgetFactory(
  notebook: NotebookPanel | null,
  rendermime: IRenderMimeRegistry,
  common: IRenderMimeRegistry
): IRenderMime.IRendererFactory {
  return {
    safe: true, // of untrusted notebooks only sanitized HTML is shown
    mimeTypes: [OUR_WIDGET_MIME],
    createRenderer: () => new LivingWidget(notebook, rendermime, common)
  };
}

/** The widget's id, if the output has one. */
export function widgetId(model: IRenderMime.IMimeModel): string | null {
  const said = model.data[OUR_WIDGET_MIME];
  if (typeof said !== 'object' || said === null || Array.isArray(said)) {
    return null;
  }
  const id = (said as { model_id?: unknown }).model_id;
  return typeof id === 'string' && id !== '' ? id : null;
}

async function isAlive(kernel: Kernel.IKernelConnection, id: string): Promise<boolean> {
  try {
    const { content } = await kernel.requestCommInfo({ target_name: WIDGET_TARGET });
    return content.status === 'ok' && id in content.comms;
  } catch {
    return false; // the connection was closed
  }
}
