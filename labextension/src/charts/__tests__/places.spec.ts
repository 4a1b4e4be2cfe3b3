import { ChartPlaces, restoreCharts } from '../places';
import { ChartInFrame } from '../renderer';

const VEGA = 'application/vnd.vegalite.v5+json';
const SPEC = JSON.stringify({ mime_type: VEGA, spec: { mark: 'bar' } });

function place(spec = SPEC): HTMLElement {
  const made = document.createElement('div');
  made.className = 'autocode-chart';
  made.textContent = 'bar chart "Sales"';
  made.setAttribute('data-autocode-chart', spec);
  return made;
}

const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 20));

let places: ChartPlaces;
let made: ChartInFrame[];

beforeEach(() => {
  made = [];
  places = new ChartPlaces(document.body, null, themes => {
    const chart = new ChartInFrame(themes, async () => '1');
    made.push(chart);
    return chart;
  });
});

afterEach(() => {
  places.dispose();
  document.body.replaceChildren();
});

describe('the charts of cards', () => {
  it('are drawn in frames that say in words what they show', async () => {
    const card = document.createElement('div');
    card.append(place(), place());
    document.body.append(card);
    await settled();
    expect(made.map(chart => chart.node.parentElement)).toEqual([...card.children]);
    expect(made.every(chart => chart.node.textContent!.includes('bar chart "Sales"'))).toBe(true); // jsdom has no frames
  });

  it('end with their card', async () => {
    const card = place();
    document.body.append(card);
    await settled();
    card.remove();
    await settled();
    expect(made.map(chart => chart.isDisposed)).toEqual([true]);
  });

  it.each(['', '{', 'null', '[]', '{"mime_type": 1, "spec": {}}', '{"mime_type": "a/b"}'])(
    'stay text if their specification is %p',
    async text => {
      const card = place(text);
      document.body.append(card);
      await settled();
      expect(made).toHaveLength(0);
      expect(card.textContent).toBe('bar chart "Sales"');
    }
  );

  it('are also drawn where a sanitizer removed their specifications', async () => {
    const html = place().outerHTML;
    const shown = document.createElement('div');
    shown.innerHTML = html;
    shown.firstElementChild!.removeAttribute('data-autocode-chart');
    document.body.append(shown);
    restoreCharts(shown, ['<p>x</p>', html]);
    await settled();
    expect(made).toHaveLength(1);
    restoreCharts(shown, html + html); // another document
    restoreCharts(shown, undefined);
  });
});
