import type { ISessionContext } from '@jupyterlab/apputils';
import type { JSONObject } from '@lumino/coreutils';
import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';

import type { IVocabulary } from '../vocabulary';

/** The state of a job; the last four are final. */
export type Phase = 'running' | 'waiting' | 'ready' | 'failed' | 'cancelled' | 'over_budget' | 'not_verified';

/** The colour of a state. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet';

/** One job, or a result in the namespace without a job. Its texts are those of its card. Times in seconds. */
export interface IJob {
  name: string;
  phase: Phase;
  /** The state in a few words: `Running the tests`. */
  title: string;
  tone: Tone;
  /** Tests, attempts, tokens, cost; after the end the duration. */
  facts: string[];
  /** Rows of the card, by label; a row without content is absent. */
  rows: { [name: string]: string[] };
  /** Seconds since 1970. */
  started: number;
  seconds: number;
  /** In US dollars; `null` if it is not known. */
  cost: number | null;
  /** What it asks the user, and what identifies this question; empty if it asks nothing. */
  asks: string;
  question: string;
  /** From 0 to 1. */
  progress: number;
  /** Changes with the content of its card. */
  step: string;
  /** The actions that are possible: ids of commands, without their prefix, and `versions`. */
  actions: string[];
  /** The labels of the buttons that its card has for some of them, by their names, in order. */
  buttons: { [name: string]: string };
  cell_id: string | null;
  /** The setting that ended it, such as `max_cost`, and its value; empty if none did. */
  limit: string;
  limit_value: number | null;
  /** A higher value, with which the run can go on. */
  limit_next: number | null;
}

/** One column of a table. */
export interface IColumn {
  name: string;
  dtype: string;
}

/** A value of the notebook that a request can refer to: `@name`. */
export interface IVariable {
  name: string;
  /** `DataFrame`, `Series`, `File`, `Dir`, or a type that converts to a DataFrame. */
  type: string;
  rows?: number;
  /** At most the first 100. */
  columns?: IColumn[];
  column_count?: number;
  path?: string;
}

/**
 * A problem of a cell that the kernel found.
 *
 * `word` counts the words of the options; `start` and `end` count characters (code points) within that word, without
 * its quotes, or within the request. Without `end` it is the whole text.
 */
export interface ICellProblem {
  severity: 'error' | 'warning' | 'info';
  what: string;
  hint: string;
  /** A replacement text; empty if there is none. */
  instead: string;
  area: 'command' | 'quote' | 'word' | 'request';
  word: number;
  start: number;
  end: number | null;
}

/** What `%autocode setup check` found about one part, as texts. */
export interface ICheckedPart {
  name: string;
  state: string;
  /** The reason or the next step. */
  more: string;
  /** 0 for a subject, more for its parts. */
  level: number;
  /** Whether the next generation would use it. */
  used: boolean;
  /** Whether it could not. */
  bad: boolean;
}

/** Models that can be asked now, and why. */
export interface IOfferedModels {
  text: string;
  models: string[];
  /** The address that they need; empty for the usual one. A server there needs no key and costs nothing. */
  api_base: string;
}

/** All of them, and where a key can be kept. */
export interface IReadyModels {
  offers: IOfferedModels[];
  /** The model that is set, and its address; empty for the usual one. */
  model: string;
  api_base: string;
  /** The system's keyring in words; empty if there is none. */
  keyring: string;
}

/** Without a kernel, nothing is known of models. */
export const NONE_READY: IReadyModels = { offers: [], model: '', api_base: '', keyring: '' };

/** The actions that a page can request. */
export type Action =
  | 'cancel'
  | 'approve'
  | 'decline'
  | 'keep'
  | 'price'
  | 'silent-wait'
  | 'silent-again'
  | 'silent-model'
  | 'versions'
  | 'picture'
  | 'card'
  | 'result'
  | 'code'
  | 'call'
  | 'assignment'
  | 'sources'
  | 'edit'
  | 'export'
  | 'check-split'
  | 'doctor'
  | 'ready'
  | 'try-model';

/** What some requests need besides a name. */
export type RequestDetails = {
  /** For `export`: the path of the file. */
  path?: string;
  /** For `approve`, `decline` and `keep`: the question that the user saw. Another one is not answered. */
  question?: string;
  /** For `try-model`: the settings of the model, the key, and whether the system's keyring gets it. */
  values?: JSONObject;
  key?: string;
  keep?: boolean;
  /** For `price`: US dollars for a million tokens of questions, and of answers. */
  prices?: [number, number];
  /** For `edit`: the edited texts. */
  code?: string;
  tests?: string;
};

/** The link to one kernel, with the last data from the kernel. A restart clears them. */
export interface IKernelLink {
  /** Whether the kernel has answered `hello`; before that, no data are known. */
  readonly connected: boolean;
  /** Whether the kernel is known not to have the extension loaded: it ended, restarted, or never loaded it. */
  readonly absent: boolean;
  readonly jobs: readonly IJob[];
  /**
   * When the jobs came, by this page's clock, in milliseconds; `seconds` of a running job counts on from there.
   * 0 until they come.
   */
  readonly heardAt: number;
  /** `null` until the kernel has sent its variables. */
  readonly variables: readonly IVariable[] | null;
  /** The other variables of the notebook (neither data nor results), and their types. */
  readonly others: { readonly [name: string]: string };
  /** The vocabulary of the kernel's version of the package; until it is known, the built-in one. */
  readonly vocabulary: IVocabulary;
  /** Emitted when one of the above changes. */
  readonly changed: ISignal<IKernelLink, void>;

  /** Tell the kernel that the user is writing a cell, so that it can import what a run needs. */
  prepare(): void;
  /**
   * Request an action; resolves with the value of the reply.
   *
   * Rejects with an `Error` with the message of the kernel.
   */
  request(action: Action, name: string, details?: RequestDetails): Promise<string | null>;
  /**
   * Request the problems of a cell, by its text. A busy kernel may answer only when it is idle again.
   *
   * Rejects if the kernel ended or does not know the request.
   */
  problems(cell: string): Promise<readonly ICellProblem[]>;
}

/** The values that are set on the settings page. */
export type Settings = { readonly [name: string]: string | number | { readonly [part: string]: string | number } };

/** A user of a kernel: a notebook or a console. */
export type IUser = Widget & { readonly sessionContext: ISessionContext };

/** The links to all kernels, one for each. */
export interface ILink {
  /** The link of the kernel of a notebook, or `null` if it has none. */
  forNotebook(user: IUser): IKernelLink | null;
  /** Emitted when a notebook got another link, or lost its link. */
  readonly changed: ISignal<ILink, void>;
  /** Send these settings to every kernel, present and future. */
  configure(values: Settings): void;
  /** Emitted when a kernel refused settings, with its messages. */
  readonly refused: ISignal<ILink, readonly string[]>;
}

export const ILink = new Token<ILink>(
  'autocoder-jupyter:ILink',
  'The data of the kernels of open notebooks for %%autocode: jobs, variables, vocabulary.'
);
