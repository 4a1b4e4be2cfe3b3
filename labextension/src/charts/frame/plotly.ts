import * as Plotly from 'plotly.js-strict-dist-min';

import { serve } from './serve';

interface ILayout {
  legend?: object;
  margin?: object;
  xaxis?: object;
  yaxis?: object;
  template?: { layout?: { paper_bgcolor?: unknown; xaxis?: object; yaxis?: object } };
}

/** Plotly's default template is made for a white page. What the figure itself sets, and other templates, stay. */
function onDark(layout: ILayout): ILayout {
  const look = layout.template?.layout ?? {};
  if (look.paper_bgcolor !== undefined && look.paper_bgcolor !== 'white') {
    return layout;
  }
  const axis = { gridcolor: '#444', linecolor: '#888', zerolinecolor: '#666' };
  const dark = {
    ...look,
    font: { color: '#ccc' },
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    xaxis: { ...look.xaxis, ...axis },
    yaxis: { ...look.yaxis, ...axis }
  };
  return { ...layout, template: { ...layout.template, layout: dark } };
}

/** Pixels of a frame below which Plotly's own margins, and a legend at the side, take half of the width. */
const NARROW = 500;

/** Small margins that grow with the labels, and the legend above. What the figure itself sets stays. */
function onNarrow(layout: ILayout): ILayout {
  return {
    ...layout,
    margin: { b: 40, l: 40, r: 10, t: 60, ...layout.margin },
    legend: { orientation: 'h', y: 1, yanchor: 'bottom', ...layout.legend },
    xaxis: { automargin: true, ...layout.xaxis },
    yaxis: { automargin: true, ...layout.yaxis }
  };
}

serve(async ({ spec, dark }, container) => {
  const { data, layout } = spec as { data: object[]; layout: ILayout };
  const fitted = innerWidth < NARROW ? onNarrow(layout) : layout;
  await Plotly.newPlot(container, data, dark ? onDark(fitted) : fitted, {
    displaylogo: false,
    modeBarButtonsToRemove: ['toImage'], // the frame may not save files
    plotlyServerURL: '',
    responsive: true,
    showSendToCloud: false,
    showTips: false
  });
});
