import type { ISettingRegistry } from '@jupyterlab/settingregistry';

import { LOAD, newCell } from '../cells/first';
import type { ICheckedPart, IKernelLink, IReadyModels } from '../link/tokens';
import { NONE_READY } from '../link/tokens';
import type { IResults } from '../results/tokens';
import { runCode } from './runCode';

/** The id under which the settings are saved. */
const PLUGIN = 'autocoder-jupyter:plugin';

/** Time limit for the connection to the kernel, in milliseconds. */
const PATIENCE = 3000;
const PAUSE = 300;

/** The values of the form for the first steps. */
export interface IAnswers {
  /** The name of the model for litellm; empty to use other settings. */
  model: string;
  /** The name of the environment variable with the API key; the key itself is never in here. */
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
    private readonly _results: Pick<IResults, 'link' | 'notebook'>,
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

  /** The models that can be asked now: their key is set, or their server answers. None without a kernel. */
  async ready(): Promise<IReadyModels> {
    const { link } = this._results;
    const found = link?.connected ? await link.request('ready', '') : null;
    return found === null ? NONE_READY : (JSON.parse(found) as IReadyModels);
  }

  /** Save the values in JupyterLab's settings. Rejects, and saves none, if the address or a price is not one. */
  async save(answers: IAnswers): Promise<void> {
    const values = settingsOf(answers);
    const { schema } = await this._registry.load(PLUGIN);
    // The kernel checks it in the same way. A value that the schema does not allow would block the whole page.
    if (!new RegExp(String(schema.properties?.api_base?.pattern ?? '')).test(values.api_base)) {
      throw new Error(
        'The address must begin with http:// or https://, without a user or a password. Nothing was saved.'
      );
    }
    for (const [name, value] of Object.entries(values)) {
      await this._registry.set(PLUGIN, name, value);
    }
  }

  /**
   * Ask the model of the answers one short question, and use it from now on; resolves with `✓ … answers (1.2 s)`.
   *
   * Rejects with an error to show to the user.
   *
   * @param key the key that was typed; it goes to the kernel, and nowhere else
   * @param keep whether the kernel gives it to the system's keyring
   */
  async test(answers: IAnswers, key: string, keep: boolean): Promise<string> {
    const link = await this._connected();
    return (await link.request('try-model', '', { values: settingsOf(answers), key, keep })) ?? '';
  }

  /** What `%autocode setup check` finds. Rejects with an error to show to the user. */
  async check(): Promise<readonly ICheckedPart[]> {
    const link = await this._connected();
    return JSON.parse((await link.request('doctor', '')) ?? '[]') as ICheckedPart[];
  }

  /** The link to the kernel, which has the extension loaded. */
  private async _connected(): Promise<IKernelLink> {
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
    return link;
  }

  /** Insert a first cell into the notebook. */
  async begin(): Promise<void> {
    const { notebook, link } = this._results;
    if (notebook !== null) {
      await newCell(notebook, link);
    }
  }
}

/** The settings of the answers. Throws if a price is not one. */
function settingsOf({ model, key, address, noKey, prices }: IAnswers): Values {
  return {
    model: model.trim(),
    api_key: noKey ? '' : key.trim(),
    api_base: address.trim(),
    litellm_params: { ...(noKey && { api_key: NO_KEY }), ...perToken(prices) }
  };
}

type Values = { model: string; api_key: string; api_base: string; litellm_params: Params };
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
