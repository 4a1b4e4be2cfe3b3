import * as Plotly from 'plotly.js-strict-dist-min';

import { serve } from './serve';

serve(async ({ spec }, container) => {
  const { data, layout } = spec as { data: object[]; layout: object };
  await Plotly.newPlot(container, data, layout, {
    displaylogo: false,
    modeBarButtonsToRemove: ['toImage'], // the frame may not save files
    plotlyServerURL: '',
    responsive: true,
    showSendToCloud: false,
    showTips: false
  });
});
