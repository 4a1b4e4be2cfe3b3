/** A script as text, which `frame.mjs` builds. */
declare module '*.text.js' {
  const script: string;
  export default script;
}

declare module 'plotly.js-strict-dist-min' {
  export function newPlot(container: HTMLElement, data: object[], layout: object, config: object): Promise<unknown>;
}
