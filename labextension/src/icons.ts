import { LabIcon } from '@jupyterlab/ui-components';

import type { Standing } from './results/entries';

const STROKE = 'class="jp-icon3" stroke="#616161" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"';
const RING = `<circle cx="8" cy="8" r="5.6" ${STROKE}/>`;

/** The icon of the extension: a cell with a tick. */
export const autocodeIcon = icon(
  'autocode',
  `<rect x="1.5" y="3" width="13" height="10" rx="1.6" ${STROKE}/><path d="m5 8.1 2.1 2.1 4-4.2" ${STROKE}/>`
);

/** The icons of actions. All are drawn in the same cell, to differ from the icons of JupyterLab. */
export const ACT_ICONS = {
  run: act('run', '<path d="M6.6 5.8v4.4L10.2 8z"'),
  cancel: act('cancel', '<path d="M6.2 6.2h3.6v3.6H6.2z"'),
  inspect: act('inspect', '<circle cx="7.4" cy="7.4" r="2"', '<path d="m9 9 1.8 1.8"'),
  insert: act('insert', '<path d="M8 5.6v4.8M5.6 8h4.8"'),
  call: act('call', '<path d="m4.6 6.2 1.8 1.8-1.8 1.8M8 10h3.2"'),
  retry: act('retry', '<path d="M10.4 6.6A2.8 2.8 0 1 0 10.8 8.4M10.6 5v1.8H8.8"'),
  edit: act('edit', '<path d="m5.4 10.6.4-1.8 3.6-3.6 1.4 1.4-3.6 3.6z"'),
  more: act('more', '<path d="M8 10.6V5.8M6 7.6l2-2 2 2"'),
  export: act('export', '<path d="M8 5.4v4.8M6 8.4l2 2 2-2"'),
  reveal: act('reveal', '<path d="M5.2 8h5.4M8.6 6l2 2-2 2"'),
  approve: icon('approve', `${RING}<path d="m5.4 8.2 1.8 1.8 3.4-3.6" ${STROKE}/>`),
  decline: icon('decline', `${RING}<path d="m6 6 4 4M10 6l-4 4" ${STROKE}/>`)
} as const;

/** The icons of states. Each has its own shape, so it is clear without colours. */
export const STANDING_ICONS: { readonly [standing in Standing]: LabIcon } = {
  absent: icon('absent', `<circle cx="8" cy="8" r="5.6" stroke-dasharray="1.6 2.8" ${STROKE}/>`),
  running: icon('running', `<path d="M8 2.4A5.6 5.6 0 1 1 2.4 8" ${STROKE}/>`),
  waiting: icon('waiting', `${RING}<path d="M6.6 6.2v3.6M9.4 6.2v3.6" ${STROKE}/>`),
  ready: icon('ready', `<path d="m3 8.6 3.3 3.3L13 5" ${STROKE}/>`),
  asking: icon('asking', `<path d="m2 8.6 3.2 3.2L9.8 7M13.2 4.2v4.2M13.2 11.6v.1" ${STROKE}/>`),
  unchecked: icon('unchecked', `<path d="m3 8.6 3.3 3.3L13 5" stroke-dasharray="2.2 1.8" ${STROKE}/>`),
  failed: icon('failed', `<path d="m4 4 8 8M12 4l-8 8" ${STROKE}/>`),
  cancelled: icon('cancelled', `${RING}<path d="m4.2 4.2 7.6 7.6" ${STROKE}/>`),
  over_budget: icon('over-budget', `${RING}<path d="M8 5v3.6M8 11v.1" ${STROKE}/>`),
  not_verified: icon(
    'not-verified',
    `${RING}<path d="M6.4 6.6a1.7 1.7 0 1 1 2.3 1.6c-.5.2-.7.5-.7 1M8 11.1v.1" ${STROKE}/>`
  )
};

function icon(name: string, shapes: string): LabIcon {
  // Themes fill each element that has their class and a `fill`, so `fill="none"` is set on the group only.
  const drawn = `<g fill="none">${shapes}</g>`;
  const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">${drawn}</svg>`;
  return new LabIcon({ name: `autocoder-jupyter:${name}`, svgstr });
}

function act(name: string, ...shapes: string[]): LabIcon {
  const drawn = shapes.map(shape => `${shape} ${STROKE}/>`).join('');
  return icon(`act-${name}`, `<rect x="1.5" y="2.6" width="13" height="10.8" rx="1.6" ${STROKE}/>${drawn}`);
}
