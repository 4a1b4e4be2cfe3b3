// JupyterLab's packages and what they stand on are ES modules; Jest wants CommonJS, so they are compiled like ours.
const compiled = ['@jupyter', '@jupyterlab', '@microsoft', '@rjsf', 'exenv-es6', 'lib0', 'nanoid', 'vscode-ws-jsonrpc'];
const commonjs = { module: 'commonjs', moduleResolution: 'node10', allowJs: true, isolatedModules: true, jsx: 'react' };

module.exports = {
  clearMocks: true,
  moduleNameMapper: { '\\.(css|svg|text\\.js)$': '<rootDir>/jest.empty.cjs' },
  setupFiles: ['<rootDir>/jest.setup.cjs'],
  testEnvironment: 'jsdom',
  testMatch: ['<rootDir>/src/**/__tests__/**/*.spec.ts?(x)'],
  transform: {
    '^.+\\.[jt]sx?$': [
      'ts-jest',
      { tsconfig: { ...commonjs, esModuleInterop: true, target: 'es2022' }, diagnostics: false }
    ]
  },
  transformIgnorePatterns: [`/node_modules/(?!(${compiled.join('|')})/)`]
};
