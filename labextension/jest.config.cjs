// JupyterLab's packages and what they stand on are ES modules; Jest wants CommonJS, so they are compiled like ours.
const compiled = ['@jupyter', '@jupyterlab', '@microsoft', '@rjsf', 'exenv-es6', 'lib0', 'nanoid', 'vscode-ws-jsonrpc'];

// Of esbuild. They stand here because Jest compiles everything anew if its configuration changes. It runs no `import()`.
const options = { supported: { 'dynamic-import': false }, target: 'es2022' };

module.exports = {
  clearMocks: true,
  moduleNameMapper: { '\\.(css|svg|text\\.js)$': '<rootDir>/jest.empty.cjs' },
  setupFiles: ['<rootDir>/jest.setup.cjs'],
  testEnvironment: 'jsdom',
  testMatch: ['<rootDir>/src/**/__tests__/**/*.spec.ts?(x)'],
  testTimeout: 60_000, // on a busy machine an editor takes its time
  transform: { '^.+\\.[jt]sx?$': ['<rootDir>/jest.transform.mjs', options] },
  transformIgnorePatterns: [`/node_modules/(?!(${compiled.join('|')})/)`]
};
