import { LabIcon } from '@jupyterlab/ui-components';

import type { Standing } from '../results/entries';

const STROKE = 'class="jp-icon3" stroke="#616161" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"';
const RING = `<circle cx="8" cy="8" r="5.6" ${STROKE}/>`;

/** A cell with a tick: what this extension is about. */
export const autocodeIcon = icon(
  'autocode',
  `<rect x="1.5" y="3" width="13" height="10" rx="1.6" ${STROKE}/><path d="m5 8.1 2.1 2.1 4-4.2" ${STROKE}/>`
);

/** A shape for each way to stand, so that colour says nothing alone. */
export const STANDING_ICONS: { readonly [standing in Standing]: LabIcon } = {
  absent: icon('absent', `<circle cx="8" cy="8" r="5.6" stroke-dasharray="1.6 2.8" ${STROKE}/>`),
  running: icon('running', `<path d="M8 2.4A5.6 5.6 0 1 1 2.4 8" ${STROKE}/>`),
  waiting: icon('waiting', `${RING}<path d="M6.6 6.2v3.6M9.4 6.2v3.6" ${STROKE}/>`),
  ready: icon('ready', `<path d="m3 8.6 3.3 3.3L13 5" ${STROKE}/>`),
  changed: icon('changed', `<path d="m2 8.6 3.2 3.2L9.8 7M13.2 4.2v4.2M13.2 11.6v.1" ${STROKE}/>`),
  failed: icon('failed', `<path d="m4 4 8 8M12 4l-8 8" ${STROKE}/>`),
  cancelled: icon('cancelled', `${RING}<path d="m4.2 4.2 7.6 7.6" ${STROKE}/>`),
  over_budget: icon('over-budget', `${RING}<path d="M8 5v3.6M8 11v.1" ${STROKE}/>`)
};

function icon(name: string, shapes: string): LabIcon {
  // A theme fills whatever has both its class and a `fill`, so that only the group says there is none.
  const drawn = `<g fill="none">${shapes}</g>`;
  const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">${drawn}</svg>`;
  return new LabIcon({ name: `autocoder-jupyter:${name}`, svgstr });
}
