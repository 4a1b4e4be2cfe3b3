import type { IThemeManager } from '@jupyterlab/apputils';
import { MimeModel } from '@jupyterlab/rendermime';
import type { PartialJSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';

import { CHART_MIME, ChartInFrame } from './renderer';

/** An element of a card or a result with the text of a chart, and with its specification. */
const NAMED = '.autocode-chart';
const SPEC = 'data-autocode-chart';
const PLACE = `${NAMED}[${SPEC}]`;

/** Characters of a specification that is read. */
const MAX_SPEC = 4_000_000;

/** Draws the charts of cards and results in a page, each in a frame of its own. A running card has none: its strip has. */
export class ChartPlaces implements IDisposable {
  constructor(
    private readonly _root: HTMLElement,
    private readonly _themes: IThemeManager | null,
    private readonly _make = (themes: IThemeManager | null) => new ChartInFrame(themes)
  ) {
    this._observer = new MutationObserver(records => this._onChange(records));
    this._observer.observe(_root, { attributeFilter: [SPEC], childList: true, subtree: true });
    this._look(_root);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._observer.disconnect();
    this._drawn.forEach(chart => chart.dispose());
    this._drawn.clear();
  }

  private _onChange(records: MutationRecord[]): void {
    for (const [place, chart] of this._drawn) {
      if (!this._root.contains(place)) {
        chart.dispose();
        this._drawn.delete(place);
      }
    }
    for (const { type, target, addedNodes } of records) {
      (type === 'childList' ? addedNodes : [target]).forEach(node => this._look(node));
    }
  }

  /** Draw the charts in a part of the page. */
  private _look(node: Node): void {
    if (!(node instanceof HTMLElement) || !node.isConnected) {
      return;
    }
    for (const place of [node, ...node.querySelectorAll<HTMLElement>(PLACE)]) {
      if (place.matches(PLACE) && !this._drawn.has(place)) {
        this._draw(place);
      }
    }
  }

  private _draw(place: HTMLElement): void {
    const said = read(place.getAttribute(SPEC)!);
    if (said === null) {
      place.removeAttribute(SPEC); // its text stays
      return;
    }
    const chart = this._make(this._themes);
    const data = {
      [CHART_MIME]: { mime_type: said.mimeType },
      [said.mimeType]: said.spec,
      'text/plain': place.textContent
    };
    this._drawn.set(place, chart);
    place.replaceChildren(chart.node);
    void chart.renderModel(new MimeModel({ trusted: false, data: data as PartialJSONObject }));
  }

  private readonly _observer: MutationObserver;
  private readonly _drawn = new Map<HTMLElement, ChartInFrame>();
  private _isDisposed = false;
}

/**
 * Give the charts of rendered HTML their specifications again, which the sanitizer of an untrusted notebook removed.
 *
 * A chart is drawn in a frame that may request nothing, so it may be untrusted.
 */
export function restoreCharts(node: HTMLElement, html: unknown): void {
  const text = Array.isArray(html) ? html.join('') : html;
  if (typeof text !== 'string' || !text.includes(SPEC)) {
    return;
  }
  const before = new DOMParser().parseFromString(text, 'text/html').querySelectorAll(NAMED);
  const after = node.querySelectorAll(NAMED);
  if (before.length === after.length) {
    after.forEach((place, number) => {
      const spec = before[number].getAttribute(SPEC);
      if (spec !== null && !place.hasAttribute(SPEC)) {
        place.setAttribute(SPEC, spec);
      }
    });
  }
}

function read(text: string): { mimeType: string; spec: object } | null {
  try {
    const said = text.length > MAX_SPEC ? null : JSON.parse(text);
    const { mime_type: mimeType, spec } = said ?? {};
    return typeof mimeType === 'string' && typeof spec === 'object' && spec !== null ? { mimeType, spec } : null;
  } catch {
    return null;
  }
}
