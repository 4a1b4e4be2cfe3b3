import type { IThemeManager } from '@jupyterlab/apputils';
import { MimeModel } from '@jupyterlab/rendermime';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import type { IDrawing } from '../messages';
import { CHART_MIME, ChartInFrame } from '../renderer';

const VEGA = 'application/vnd.vegalite.v5+json';

/** Stands for a `MessagePort`; what is posted to one end arrives at once at the other. */
class Port {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  other: Port | null = null;
  closed = false;
  postMessage(data: unknown): void {
    if (!this.closed && this.other?.closed === false) {
      this.other.onmessage?.({ data });
    }
  }
  close(): void {
    this.closed = true;
  }
}

class Channel {
  readonly port1 = new Port();
  readonly port2 = new Port();
  constructor() {
    this.port1.other = this.port2;
    this.port2.other = this.port1;
  }
}

interface IShown {
  chart: ChartInFrame;
  drawings: IDrawing[];
  ports: Port[];
  load: () => void;
}

function chart(data: object = {}): MimeModel {
  return new MimeModel({
    trusted: false,
    data: {
      [CHART_MIME]: { mime_type: VEGA },
      [VEGA]: { mark: 'bar', title: 'Sales' },
      'text/plain': '<Figure of altair>',
      ...data
    }
  });
}

/** Render a chart. jsdom loads no frames, so a test says when one is loaded. */
async function show(model: MimeModel, themes: IThemeManager | null = null): Promise<IShown> {
  const shown = new ChartInFrame(themes, async mimeType => (mimeType === VEGA ? '1' : null));
  Widget.attach(shown, document.body);
  await shown.renderModel(model);
  const drawings: IDrawing[] = [];
  const ports: Port[] = [];
  const postMessage = (drawing: IDrawing, _origin: string, [port]: Port[]): void => {
    drawings.push(drawing);
    ports.push(port);
  };
  const load = (): void => {
    const frame = shown.node.querySelector('iframe')!;
    Object.defineProperty(frame, 'contentWindow', { value: { frames: [{ postMessage }] }, configurable: true });
    frame.dispatchEvent(new Event('load'));
  };
  return { chart: shown, drawings, ports, load };
}

beforeEach(() => {
  jest.useFakeTimers();
  (globalThis as { MessageChannel: unknown }).MessageChannel = Channel;
});

afterEach(() => {
  jest.useRealTimers();
  document.body.replaceChildren();
});

describe('a chart', () => {
  it('is drawn in a frame without rights, which says in words what it is', async () => {
    const { chart: shown, drawings, load } = await show(chart());
    load();
    const frame = shown.node.querySelector('iframe')!;
    expect(frame.getAttribute('sandbox')).toBe('allow-scripts');
    expect(frame.getAttribute('aria-label')).toBe('Sales: <Figure of altair>');
    expect(drawings).toEqual([{ spec: { mark: 'bar', title: 'Sales' }, dark: false }]);
  });

  it('does not say its title twice', async () => {
    const { chart: shown } = await show(chart({ 'text/plain': 'bar chart "Sales"; 2 marks' }));
    expect(shown.node.querySelector('iframe')!.getAttribute('aria-label')).toBe('bar chart "Sales"; 2 marks');
  });

  it('gets the height of its content, also later, and nothing else from the frame', async () => {
    const { chart: shown, ports, load } = await show(chart());
    load();
    const frame = shown.node.querySelector('iframe')!;
    ports[0].postMessage({ height: 120 });
    jest.advanceTimersByTime(60_000);
    ports[0].postMessage({ height: 1e9 });
    expect(frame.style.height).toBe('10000px');
    ports[0].postMessage({ height: '1px;position:fixed' });
    ports[0].postMessage({ height: 50 });
    expect(frame.style.height).toBe('10000px');
    expect(shown.node.contains(frame)).toBe(true);
  });

  it('is not heard without end', async () => {
    const { chart: shown, ports, load } = await show(chart());
    load();
    for (let height = 1; height <= 5_000; height++) {
      ports[0].postMessage({ height });
    }
    expect(shown.node.querySelector('iframe')!.style.height).toBe('1000px');
  });

  it('is removed, with a message, if it is not drawn in time', async () => {
    const { chart: shown, load } = await show(chart());
    load();
    jest.advanceTimersByTime(60_001);
    expect(shown.node.querySelector('iframe')).toBeNull();
    expect(shown.node.textContent).toContain('(it was not drawn within 60 seconds). Its data can be read in Python.');
  });

  it('is removed, with a message as text, if the frame reports a problem', async () => {
    const { chart: shown, ports, load } = await show(chart());
    load();
    ports[0].postMessage({ problem: '<img src=x>' });
    expect(shown.node.querySelector('iframe, img')).toBeNull();
    expect(shown.node.textContent).toContain('<img src=x>');
  });

  it('is drawn again when its frame is loaded again', async () => {
    const { drawings, ports, load } = await show(chart());
    load();
    ports[0].postMessage({ height: 9 });
    load();
    expect(drawings.length).toBe(2);
  });

  it('is drawn with the theme of the page', async () => {
    let light = false;
    const themeChanged = new Signal<object, object>({});
    const themes = { theme: 'x', isLight: () => light, themeChanged } as unknown as IThemeManager;
    const { chart: shown, drawings, load } = await show(chart(), themes);
    load();
    light = true;
    themeChanged.emit({});
    load();
    expect(drawings.map(({ dark }) => dark)).toEqual([true, false]);
    shown.dispose();
    themeChanged.emit({});
  });

  const others: object[] = [
    { [CHART_MIME]: { mime_type: 'text/html' }, 'text/html': '<b>x</b>' },
    { [CHART_MIME]: { mime_type: 'text/html' }, 'text/html': { a: 1 } },
    { [CHART_MIME]: { mime_type: 'constructor' }, constructor: {} },
    { [CHART_MIME]: 'x' },
    { [CHART_MIME]: null },
    { [VEGA]: [1] }
  ];
  it.each(others)('that is none is a message: %p', async data => {
    const { chart: shown } = await show(chart(data));
    expect(shown.node.querySelector('iframe, b')).toBeNull();
    expect(shown.node.textContent).toContain('no chart that can be drawn');
  });
});
