import type { IAnswer, IDrawing } from '../messages';

/**
 * Wait for a chart, draw it, and report the height of the content, also when it changes.
 *
 * @param draw draws into an element
 */
export function serve(draw: (drawing: IDrawing, container: HTMLElement) => Promise<void>): void {
  // No policy of a page forbids it yet. Nothing that draws needs it.
  Reflect.deleteProperty(globalThis, 'RTCPeerConnection');
  addEventListener(
    'message',
    event => {
      const port = event.ports[0];
      const container = document.createElement('div');
      document.body.append(container);
      document.body.classList.toggle('dark', (event.data as IDrawing).dark);
      const answer = (message: IAnswer): void => port.postMessage(message);
      const report = (): void => answer({ height: height(container) });
      draw(event.data as IDrawing, container).then(
        () => {
          report();
          new ResizeObserver(report).observe(container);
        },
        (error: unknown) => answer({ problem: String(error) })
      );
    },
    { once: true }
  );
}

/** The height of the content, with a horizontal scroll bar if it is too wide. */
function height(container: HTMLElement): number {
  const { scrollWidth, clientWidth, offsetHeight } = document.body;
  return Math.ceil(Math.max(container.scrollHeight, offsetHeight)) + (scrollWidth > clientWidth ? 16 : 0);
}
