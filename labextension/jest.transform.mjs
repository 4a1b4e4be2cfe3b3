import { transformSync } from 'esbuild';

// Jest wants CommonJS. Types are checked by `jlpm types`. A module is replaced (`jest.mock`, in one line) before the imports.
const MOCK = /^jest\.mock\(.*\);$/gm;

export default {
  process(text, file, { transformerConfig }) {
    const { code } = transformSync(text, {
      format: 'cjs',
      loader: file.endsWith('.tsx') ? 'tsx' : file.endsWith('.ts') ? 'ts' : 'jsx',
      sourcefile: file,
      sourcemap: 'inline',
      ...transformerConfig
    });
    return { code: (text.match(MOCK) ?? []).join(' ') + code };
  }
};
