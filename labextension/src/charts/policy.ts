/**
 * What a chart's frame may do: run the one script that the page writes into it, and draw. It may request nothing.
 *
 * The nonce allows this script and no attribute or element that becomes one; the second policy also refuses a script
 * from an address, which a nonce alone would allow. Trusted types refuse text as markup. Frames are refused for the
 * frame in the frame, so that it cannot leave for another page: a sandbox alone does not forbid that.
 */
function policies(nonce: string): string[] {
  return [
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'unsafe-inline'; img-src data:; frame-src 'none'; ` +
      `worker-src 'none'; base-uri 'none'; form-action 'none'; ` +
      `require-trusted-types-for 'script'; trusted-types 'none'`,
    `script-src 'unsafe-inline'`
  ];
}

const STYLE = `
html { color-scheme: normal; }
body { margin: 0; overflow-y: hidden; font: 13px system-ui, sans-serif; }
.tooltip { position: absolute; pointer-events: none; max-width: 24em; padding: 4px 8px; border: 1px solid #888; border-radius: 3px;
  overflow-wrap: anywhere; white-space: pre-wrap; background: #fff; color: #000; }
.tooltip[hidden] { display: none; }
.tooltip span { color: #555; margin-right: 1em; }
.dark .tooltip { background: #222; color: #eee; }
.dark .tooltip span { color: #aaa; }
`;

/** The document of a frame in which another frame runs a script. The outer one has no script. */
export function framed(script: string, nonce: string): string {
  const policy = policies(nonce)
    .map(text => `<meta http-equiv="Content-Security-Policy" content="${attribute(text)}">`)
    .join('');
  const start = `<!doctype html><meta charset="utf-8">${policy}<meta http-equiv="x-dns-prefetch-control" content="off">`;
  const inner = `${start}<style>${STYLE}</style><body><script nonce="${nonce}">${script}</script>`;
  const fill = 'position:absolute;inset:0;width:100%;height:100%;border:0';
  const outer = `<body style="margin:0"><iframe sandbox="allow-scripts" style="${fill}" title="chart" srcdoc="${attribute(inner)}"></iframe>`;
  return start + outer;
}

/** A word that nobody can guess. */
export function newNonce(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
}

function attribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}
