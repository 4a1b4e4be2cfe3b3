import type { IThemeManager } from '@jupyterlab/apputils';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Widget } from '@lumino/widgets';

import { scriptFor } from './libraries';
import type { IDrawing } from './messages';
import { readAnswer } from './messages';
import { framed, newNonce } from './policy';

/** A chart of generated code: `{"mime_type": …}`, the mime type under which the same output has its specification. */
export const CHART_MIME = 'application/vnd.autocoder-jupyter.chart+json';

/** Time limit for drawing, in milliseconds. All charts of a page are drawn at once when it opens. */
const PATIENCE = 60_000;

/** Answers of one drawing that are read. A frame answers whenever its height changes. */
const MAX_ANSWERS = 1_000;

/**
 * Draws a chart in a frame that may request nothing.
 *
 * The frame is loaded again whenever the notebook attaches its output again, and is then drawn again.
 */
export class ChartInFrame extends Widget implements IRenderMime.IRenderer {
  constructor(
    private readonly _themes: IThemeManager | null,
    private readonly _script = scriptFor
  ) {
    super();
    this.addClass('jp-AutocodeChart');
    _themes?.themeChanged.connect(this._onThemeChanged, this);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._themes?.themeChanged.disconnect(this._onThemeChanged, this);
      this._remove();
      super.dispose();
    }
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const turn = ++this._turn;
    const chart = readChart(model);
    const script = chart === null ? null : await this._script(chart.mimeType);
    if (this.isDisposed || turn !== this._turn) {
      return;
    }
    this._remove();
    this._text = textOf(model);
    if (chart === null || script === null) {
      this._say('This output has no chart that can be drawn.');
      return;
    }
    const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.setAttribute('role', 'img');
    frame.setAttribute('aria-label', labelOf(titleOf(chart.spec), this._text));
    frame.addEventListener('load', () => this._draw(frame, chart.spec));
    frame.srcdoc = framed(script, newNonce());
    this._frame = frame;
    this.node.replaceChildren(frame);
  }

  /** Send the chart to the frame in the frame, and wait for its answers. */
  private _draw(frame: HTMLIFrameElement, spec: object): void {
    this._stopListening();
    const inner = frame.contentWindow?.frames[0];
    if (inner === undefined) {
      this._fail('its frame could not be made');
      return;
    }
    const { port1, port2 } = new MessageChannel();
    this._port = port1;
    this._timer = window.setTimeout(() => this._fail(`it was not drawn within ${PATIENCE / 1000} seconds`), PATIENCE);
    let left = MAX_ANSWERS;
    port1.onmessage = event => {
      const answer = left-- > 0 ? readAnswer(event.data) : null;
      if (answer?.problem !== undefined) {
        this._fail(answer.problem);
      } else if (answer?.height !== undefined) {
        window.clearTimeout(this._timer);
        frame.style.height = `${answer.height}px`;
      } else {
        this._stopListening();
      }
    };
    const drawing: IDrawing = { spec, dark: this._themes !== null && isDark(this._themes) };
    inner.postMessage(drawing, '*', [port2]); // a sandboxed frame has no origin that could be named
  }

  /** Draw again: the frame loads, and then gets the chart with the other theme. */
  private _onThemeChanged(): void {
    if (this._frame !== null) {
      const { srcdoc } = this._frame;
      this._frame.srcdoc = srcdoc;
    }
  }

  private _fail(reason: string): void {
    this._remove();
    this._say(`This chart is not shown (${reason}). Its data can be read in Python.`);
  }

  private _say(message: string): void {
    const note = document.createElement('p');
    note.className = 'jp-AutocodeChart-note';
    note.setAttribute('role', 'status');
    note.textContent = [message, this._text].filter(Boolean).join(' ');
    this.node.replaceChildren(note);
  }

  /** Removing a frame also ends a script that is still running in it. */
  private _remove(): void {
    this._stopListening();
    this._frame?.remove();
    this._frame = null;
  }

  private _stopListening(): void {
    window.clearTimeout(this._timer);
    this._port?.close();
    this._port = null;
  }

  private _frame: HTMLIFrameElement | null = null;
  private _port: MessagePort | null = null;
  private _timer = 0;
  private _text = '';
  private _turn = 0;
}

/** Makes renderers of charts. */
export function chartFactory(themes: IThemeManager | null): IRenderMime.IRendererFactory {
  return {
    safe: true, // also of an untrusted notebook: what is drawn stays in the frame
    mimeTypes: [CHART_MIME],
    createRenderer: () => new ChartInFrame(themes)
  };
}

function readChart(model: IRenderMime.IMimeModel): { mimeType: string; spec: object } | null {
  const said = model.data[CHART_MIME] as { mime_type?: unknown } | null | undefined;
  const mimeType = typeof said === 'object' ? said?.mime_type : undefined;
  if (typeof mimeType !== 'string') {
    return null;
  }
  const spec = model.data[mimeType];
  return typeof spec === 'object' && spec !== null && !Array.isArray(spec) ? { mimeType, spec } : null;
}

/** The title in a specification of Vega-Lite (`title`) or Plotly (`layout.title.text`). */
function titleOf(spec: object): string {
  const { title, layout } = spec as { title?: unknown; layout?: { title?: unknown } | null };
  const found = title ?? layout?.title;
  const text = typeof found === 'object' && found !== null ? (found as { text?: unknown }).text : found;
  return typeof text === 'string' ? text.slice(0, 200) : '';
}

/** The text of the output says what the chart shows, with its title; that of an old notebook has no title. */
function labelOf(title: string, text: string): string {
  return text.includes(title) ? text : [title, text].filter(Boolean).join(': ');
}

function textOf(model: IRenderMime.IMimeModel): string {
  const text = model.data['text/plain'];
  return (Array.isArray(text) ? text.join('') : typeof text === 'string' ? text : '').slice(0, 700);
}

function isDark(themes: IThemeManager): boolean {
  return themes.theme !== null && !themes.isLight(themes.theme);
}
