import type { Loader } from 'vega';
import { parse, View } from 'vega';
import { expressionInterpreter } from 'vega-interpreter';
import type { Config as VegaLiteConfig, TopLevelSpec } from 'vega-lite';
import { compile } from 'vega-lite';

import { serve } from './serve';
import { tooltip } from './tooltip';

/** Vega's default colors are made for a white page. */
const DARK: VegaLiteConfig = {
  axis: { domainColor: '#888', gridColor: '#444', labelColor: '#ccc', tickColor: '#888', titleColor: '#ccc' },
  header: { labelColor: '#ccc', titleColor: '#ccc' },
  legend: { labelColor: '#ccc', titleColor: '#ccc' },
  title: { color: '#ccc', subtitleColor: '#ccc' },
  style: { cell: { stroke: '#555' }, 'guide-label': { fill: '#ccc' }, 'guide-title': { fill: '#ccc' } }
};

/** The smallest width between the axes, in pixels. */
const LEAST = 100;

const refuse = (): Promise<never> => Promise.reject(new Error('A chart of generated code loads nothing.'));

serve(async ({ spec, dark }, container) => {
  const config = { ...(dark ? DARK : {}), background: 'transparent' } as object;
  const compiled = compile(spec as TopLevelSpec, { config }).spec;
  // Expressions are interpreted, because the frame's policy allows no compiled ones.
  const view = new View(parse(compiled, undefined, { ast: true }), {
    container,
    expr: expressionInterpreter,
    hover: true,
    loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse } as unknown as Loader,
    renderer: 'canvas'
  });
  view.tooltip(tooltip(container));
  await view.runAsync();
  fit(view, container);
});

/** Make a chart that is wider than the frame as narrow as that; one that is made of several charts scrolls. */
function fit(view: View, container: HTMLElement): void {
  const natural = view.width();
  const beside = (container.querySelector('canvas')?.offsetWidth ?? natural) - natural; // axes and legends
  const narrow = (): void => {
    const width = Math.min(natural, Math.max(innerWidth - beside, LEAST));
    if (width !== view.width()) {
      void view.width(width).runAsync();
    }
  };
  if (natural > 0) {
    narrow();
    addEventListener('resize', narrow);
  }
}
