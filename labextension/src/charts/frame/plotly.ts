import * as Plotly from 'plotly.js-strict-dist-min';

import { serve } from './serve';

interface ILayout {
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

serve(async ({ spec, dark }, container) => {
  const { data, layout } = spec as { data: object[]; layout: ILayout };
  await Plotly.newPlot(container, data, dark ? onDark(layout) : layout, {
    displaylogo: false,
    modeBarButtonsToRemove: ['toImage'], // the frame may not save files
    plotlyServerURL: '',
    responsive: true,
    showSendToCloud: false,
    showTips: false
  });
});
