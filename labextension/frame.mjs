// Builds what runs inside of a chart's frame: for each library one script, as the text that the page writes into the
// frame. The licenses of the packages in it are its first comment.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { build } from 'esbuild';

const OUT = 'lib/charts/frame';

// The bundle of Plotly is an argument of a function, which V8 parses once more at each call around it: a second of each chart.
// As a module, it is parsed once.
const plotlyAsModule = {
  name: 'plotly-as-module',
  setup({ onLoad }) {
    onLoad({ filter: /plotly-strict\.min\.js$/ }, async ({ path }) => {
      const parts = /typeof self !== "undefined" \? self : this, \(\) => \{\n(.*)\nreturn Plotly;\n\}\)\);\s*$/s.exec(
        await readFile(path, 'utf8')
      );
      if (parts === null) {
        throw new Error(`${path} is no longer the argument of a function.`);
      }
      return { contents: `${parts[1]}\nexport const { newPlot } = Plotly;` };
    });
  }
};

for (const library of ['vega', 'plotly']) {
  const { metafile, outputFiles } = await build({
    entryPoints: [`src/charts/frame/${library}.ts`],
    bundle: true,
    charset: 'ascii',
    format: 'iife',
    legalComments: 'none',
    metafile: true,
    minify: true,
    plugins: [plotlyAsModule],
    target: 'es2022',
    write: false
  });
  // A script element ends, or changes its meaning, at these letters.
  const script = `/*\n${await licenses(metafile)}\n*/\n${outputFiles[0].text}`.replaceAll('<!--', '\\x3c!--');
  if (/<\/?script/i.test(script)) {
    throw new Error(`The script for ${library} would end its own element.`);
  }
  await mkdir(OUT, { recursive: true });
  await writeFile(join(OUT, `${library}.text.js`), `export default ${JSON.stringify(script)};\n`);
}

async function licenses({ inputs }) {
  const folders = new Set();
  for (const file of Object.keys(inputs)) {
    const folder = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
    if (folder !== undefined) {
      folders.add(folder);
    }
  }
  const texts = [];
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const file = (await readdir(folder)).find(entry => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? '' : await readFile(join(folder, file), 'utf8');
    texts.push(`${name} ${version} (${license})\n\n${text.replaceAll('*/', '* /').trim()}`);
  }
  return texts.join('\n\n');
}
