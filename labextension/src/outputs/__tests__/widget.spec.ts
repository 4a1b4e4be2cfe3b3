import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { MimeModel } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { Panel, Widget } from '@lumino/widgets';

import { OUR_WIDGET_MIME, LivingWidget, widgetId } from '../widget';

const WIDGET_MIME = 'application/vnd.jupyter.widget-view+json';

/** What the kernel has, and what this page has met of it. */
class Kernels {
  readonly alive = new Set<string>();
  readonly met = new Set<string>();
  readonly connection = {
    hasComm: (id: string) => this.met.has(id),
    requestCommInfo: async () => ({
      content: { status: 'ok', comms: Object.fromEntries([...this.alive].map(id => [id, {}])) }
    })
  };
  readonly sessionContext = {
    ready: Promise.resolve(),
    session: { kernel: this.connection },
    statusChanged: new Signal<object, Kernel.Status>({}),
    iopubMessage: new Signal<object, KernelMessage.IIOPubMessage>({}),
    kernelChanged: new Signal<object, object>({})
  };

  get notebook(): NotebookPanel {
    return { sessionContext: this.sessionContext } as unknown as NotebookPanel;
  }
}

/** Renders HTML as text; a widget only if the page has met it, as the manager of widgets does. */
function rendermime(kernels: Kernels, factory: object): IRenderMimeRegistry {
  const createRenderer = (mimeType: string): IRenderMime.IRenderer => {
    const renderer = new Panel() as Panel & IRenderMime.IRenderer;
    renderer.renderModel = async model => {
      if (mimeType !== WIDGET_MIME) {
        renderer.node.textContent = `${model.trusted ? 'trusted' : 'sanitized'}: ${String(model.data[mimeType])}`;
        return;
      }
      const { model_id } = model.data[WIDGET_MIME] as { model_id: string };
      if (kernels.met.has(model_id)) {
        const view = new Widget();
        view.node.textContent = `widget ${model_id}`;
        renderer.addWidget(view);
      } else {
        renderer.node.textContent = 'Error displaying widget: model not found';
      }
    };
    return renderer;
  };
  return { createRenderer, getFactory: () => factory } as unknown as IRenderMimeRegistry;
}

function output(id: unknown, trusted = true): MimeModel {
  const data = { [OUR_WIDGET_MIME]: { model_id: id as string }, 'text/html': '<b>static</b>' };
  return new MimeModel({ trusted, data });
}

let kernels: Kernels;
let renderer: LivingWidget;
const shown = (): string | null => renderer.node.textContent;

beforeEach(() => {
  jest.useFakeTimers();
  kernels = new Kernels();
  renderer = new LivingWidget(kernels.notebook, rendermime(kernels, { own: 1 }), rendermime(kernels, { common: 1 }));
});

afterEach(() => {
  renderer.dispose();
  jest.useRealTimers();
});

it('shows the widget at once when the page has met it', async () => {
  kernels.met.add('w');
  await renderer.renderModel(output('w'));
  expect(shown()).toBe('widget w');
});

it('shows the HTML until the page has met the widget that the kernel has', async () => {
  kernels.alive.add('w');
  await renderer.renderModel(output('w'));
  expect(shown()).toBe('trusted: <b>static</b>');
  await jest.advanceTimersByTimeAsync(600);
  expect(shown()).toBe('trusted: <b>static</b>');
  kernels.met.add('w');
  await jest.advanceTimersByTimeAsync(600);
  expect(shown()).toBe('widget w');
});

it('looks for the widget again when the page gets its kernel after the outputs', async () => {
  await renderer.renderModel(output('w'));
  await jest.advanceTimersByTimeAsync(600);
  kernels.alive.add('w');
  kernels.met.add('w');
  kernels.sessionContext.kernelChanged.emit({});
  await jest.advanceTimersByTimeAsync(600);
  expect(shown()).toBe('widget w');
});

it('stays with the HTML when the widget is gone, without an error for a moment', async () => {
  await renderer.renderModel(output('w'));
  const seen = [shown()];
  for (let look = 0; look < 20; look++) {
    await jest.advanceTimersByTimeAsync(1000);
    seen.push(shown());
  }
  expect(new Set(seen)).toEqual(new Set(['trusted: <b>static</b>']));
});

it('shows sanitized HTML of an untrusted notebook, even while the widget lives', async () => {
  kernels.met.add('w').add('x');
  kernels.alive.add('w');
  await renderer.renderModel(output('w', false));
  await jest.advanceTimersByTimeAsync(5000);
  expect(shown()).toBe('sanitized: <b>static</b>');
});

it.each(['restarting', 'autorestarting', 'dead', 'starting'] as const)(
  'goes back to the HTML when the kernel is %s',
  async status => {
    kernels.met.add('w');
    await renderer.renderModel(output('w'));
    // The page still knows the comm; the new process does not.
    kernels.sessionContext.statusChanged.emit(status);
    await jest.advanceTimersByTimeAsync(15_000);
    expect(shown()).toBe('trusted: <b>static</b>');
  }
);

it('goes back to the HTML when another process speaks, whose first words this page missed', async () => {
  kernels.met.add('w');
  await renderer.renderModel(output('w'));
  const speak = (session: string): void =>
    kernels.sessionContext.iopubMessage.emit({ header: { session } } as KernelMessage.IIOPubMessage);
  speak('first');
  speak('first');
  await jest.advanceTimersByTimeAsync(0);
  expect(shown()).toBe('widget w');
  speak('second');
  await jest.advanceTimersByTimeAsync(15_000);
  expect(shown()).toBe('trusted: <b>static</b>');
});

it('stays with the widget while the kernel is busy', async () => {
  kernels.met.add('w');
  await renderer.renderModel(output('w'));
  kernels.sessionContext.statusChanged.emit('busy');
  await jest.advanceTimersByTimeAsync(0);
  expect(shown()).toBe('widget w');
});

it('goes back to the HTML when the kernel closes the widget', async () => {
  kernels.met.add('w');
  await renderer.renderModel(output('w'));
  const [around] = renderer.widgets as Panel[];
  around.widgets[0].dispose();
  await jest.advanceTimersByTimeAsync(0);
  expect(shown()).toBe('trusted: <b>static</b>');
});

it('follows an update of its output', async () => {
  kernels.met.add('w').add('next');
  await renderer.renderModel(output('w'));
  await renderer.renderModel(output('next'));
  expect(shown()).toBe('widget next');
});

it('shows the HTML where no renderer of widgets knows a kernel', async () => {
  kernels.met.add('w');
  const common = rendermime(kernels, { common: 1 });
  for (const notebook of [null, kernels.notebook]) {
    const other = new LivingWidget(notebook, common, common);
    await other.renderModel(output('w'));
    expect(other.node.textContent).toBe('trusted: <b>static</b>');
    other.dispose();
  }
});

it.each([[''], [7], [null], [undefined]])('knows that %j is no widget', id => {
  expect(widgetId(output(id))).toBeNull();
});
