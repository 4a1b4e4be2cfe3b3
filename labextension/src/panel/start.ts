import { NotebookActions } from '@jupyterlab/notebook';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';

import { LOAD, newCell } from '../cells/first';
import { insertBelow } from '../cells/place';
import type { ICheckedPart, IReadyModels } from '../link/tokens';
import type { IResults } from '../results/tokens';
import { runCode } from './runCode';

/** The id under which the settings are saved. */
const PLUGIN = 'autocoder-jupyter:plugin';

/** Time limit for the connection to the kernel, in milliseconds. */
const PATIENCE = 3000;
const PAUSE = 300;

/** Asks for the settings, with one test call, and says what is written and where. */
const SETUP = '%autocode setup';

/** The values of the form for the first steps. */
export interface IAnswers {
  /** The name of the model for litellm; empty to use other settings. */
  model: string;
  /** The name of the environment variable with the API key. */
  key: string;
  /** The address of a server of one's own; empty for the usual one. */
  address: string;
  /** Whether the server needs no key. */
  noKey: boolean;
  /** US dollars for a million input and output tokens; both empty to use the known price. */
  prices: readonly [string, string];
}

/** What is sent in the place of a key that is not needed, and the names of the prices; the schema has them too. */
const NO_KEY = 'not-needed';
const PRICES = ['input_cost_per_token', 'output_cost_per_token'] as const;
const MILLION = 1e6;

/** The first steps: settings, a check, a first cell. */
export class Start {
  constructor(
    private readonly _results: IResults,
    private readonly _registry: ISettingRegistry
  ) {}

  /** The saved values. */
  async answers(): Promise<IAnswers> {
    const settings = await this._registry.load(PLUGIN);
    const read = (name: string): string => String(settings.get(name).composite ?? '');
    const params = settings.get('litellm_params').composite as Params | undefined;
    const [asked, answered] = PRICES.map(name => perMillion(params?.[name]));
    return {
      model: read('model'),
      key: read('api_key'),
      address: read('api_base'),
      noKey: params?.api_key === NO_KEY,
      prices: [asked, answered]
    };
  }

  /** The models that can be asked now: their key is set, or their server answers. Empty without a kernel. */
  async ready(): Promise<readonly IReadyModels[]> {
    const { link } = this._results;
    return link?.connected ? (JSON.parse((await link.request('ready', '')) ?? '[]') as IReadyModels[]) : [];
  }

  /** Save the values in JupyterLab's settings. Rejects, and saves none, if the address or a price is not one. */
  async save({ model, key, address, noKey, prices }: IAnswers): Promise<void> {
    const params: Params = { ...(noKey && { api_key: NO_KEY }), ...perToken(prices) };
    const { schema } = await this._registry.load(PLUGIN);
    // The kernel checks it in the same way. A value that the schema does not allow would block the whole page.
    if (!new RegExp(String(schema.properties?.api_base?.pattern ?? '')).test(address.trim())) {
      throw new Error(
        'The address must begin with http:// or https://, without a user or a password. Nothing was saved.'
      );
    }
    await this._registry.set(PLUGIN, 'model', model.trim());
    await this._registry.set(PLUGIN, 'api_key', noKey ? '' : key.trim());
    await this._registry.set(PLUGIN, 'api_base', address.trim());
    await this._registry.set(PLUGIN, 'litellm_params', params);
  }

  /** What `%autocode doctor` finds. Rejects with an error to show to the user. */
  async check(): Promise<readonly ICheckedPart[]> {
    const { notebook } = this._results;
    if (notebook === null) {
      throw new Error('Open a notebook first.');
    }
    const trouble = this._results.link?.connected ? '' : await runCode(notebook, LOAD);
    for (let waited = 0; waited < PATIENCE && !this._results.link?.connected; waited += PAUSE) {
      await pause();
    }
    const { link } = this._results;
    if (!link?.connected) {
      throw new Error(trouble.trim() || 'The kernel does not answer. Wait until it is idle, and try again.');
    }
    return JSON.parse((await link.request('doctor', '')) ?? '[]') as ICheckedPart[];
  }

  /** Ask all questions of the first steps in a cell: key, price, sharing, sandbox, and one test call. */
  async ask(): Promise<void> {
    const { notebook, link } = this._results;
    if (notebook === null) {
      throw new Error('Open a notebook first.');
    }
    if (!link?.connected) {
      await runCode(notebook, LOAD);
    }
    insertBelow(notebook, notebook.content.activeCellIndex, SETUP);
    await NotebookActions.run(notebook.content, notebook.sessionContext);
  }

  /** Insert a first cell into the notebook. */
  async begin(): Promise<void> {
    const { notebook, link } = this._results;
    if (notebook !== null) {
      await newCell(notebook, link);
    }
  }
}

type Params = { [name: string]: string | number | null };

function perMillion(price: string | number | null | undefined): string {
  return typeof price === 'number' ? String(Number((price * MILLION).toFixed(6))) : '';
}

function perToken(prices: readonly [string, string]): Params {
  const written = prices.map(price => price.trim());
  if (written.every(price => price === '')) {
    return {};
  }
  const numbers = written.map(price => (price === '' ? NaN : Number(price)));
  if (!numbers.every(price => price >= 0 && price < MILLION)) {
    throw new Error('Both prices must be numbers of at least 0, such as 0.15, or both empty. Nothing was saved.');
  }
  return Object.fromEntries(PRICES.map((name, at) => [name, numbers[at] / MILLION]));
}

async function pause(): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, PAUSE));
}
