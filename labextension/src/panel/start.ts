import type { ISettingRegistry } from '@jupyterlab/settingregistry';

import { LOAD, newCell } from '../cells/first';
import type { IResults } from '../results/tokens';
import { said } from './said';

/** Under which the settings are kept. */
const PLUGIN = 'autocoder-jupyter:plugin';

/** How long a kernel may take to hear the settings, in milliseconds. */
const PATIENCE = 3000;
const PAUSE = 300;

/** What the panel asks who begins. */
export interface IAnswers {
  /** The model as litellm calls it; empty for what is set elsewhere. */
  model: string;
  /** Name of the environment variable that holds its key. */
  key: string;
}

/** The first steps: settings, a look at what there is, a first cell. */
export class Start {
  constructor(
    private readonly _results: IResults,
    private readonly _registry: ISettingRegistry
  ) {}

  /** What is set already. */
  async answers(): Promise<IAnswers> {
    const settings = await this._registry.load(PLUGIN);
    const read = (name: string): string => String(settings.get(name).composite ?? '');
    return { model: read('model'), key: read('api_key') };
  }

  /** Keep the answers, and let `%autocode doctor` say what will be used; rejects with a sentence for a person. */
  async check({ model, key }: IAnswers): Promise<string> {
    await this._registry.set(PLUGIN, 'model', model.trim());
    await this._registry.set(PLUGIN, 'api_key', key.trim());
    const { notebook } = this._results;
    if (notebook === null) {
      throw new Error('Open a notebook first.');
    }
    const trouble = this._results.link?.connected ? '' : await said(notebook, LOAD);
    for (let waited = 0; waited < PATIENCE && !this._results.link?.connected; waited += PAUSE) {
      await pause();
    }
    await pause(); // the settings are on their way
    return trouble + (await said(notebook, '%autocode doctor'));
  }

  /** Put a first cell into the notebook. */
  async begin(): Promise<void> {
    const { notebook, link } = this._results;
    if (notebook !== null) {
      await newCell(notebook, link);
    }
  }
}

async function pause(): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, PAUSE));
}
