/** The scripts that draw in a frame, by the mime type of a specification. A page without charts loads none of them. */
const SCRIPTS: Record<string, () => Promise<{ default: string }>> = {
  'application/vnd.plotly.v1+json': () => import('./frame/plotly.text.js'),
  'application/vnd.vegalite.v5+json': () => import('./frame/vega.text.js')
};

/** Load the script that draws specifications of this mime type; `null` if there is none. */
export async function scriptFor(mimeType: string): Promise<string | null> {
  return Object.hasOwn(SCRIPTS, mimeType) ? (await SCRIPTS[mimeType]()).default : null;
}
