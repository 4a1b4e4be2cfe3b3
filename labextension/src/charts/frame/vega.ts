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
});
