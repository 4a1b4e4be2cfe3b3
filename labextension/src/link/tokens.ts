import type { ISessionContext } from '@jupyterlab/apputils';
import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';

import type { IVocabulary } from '../vocabulary';

/** Where a job stands; the last four do not change any more. */
export type Phase = 'running' | 'waiting' | 'ready' | 'failed' | 'cancelled' | 'over_budget';

/** One generation, or a result that the namespace holds without one. Times in seconds, costs in US dollars. */
export interface IJob {
  name: string;
  /** `tools` for an answer by code that calls functions; `function`, or absent in what older kernels say, else. */
  mode?: string;
  phase: Phase;
  /** What it does, for people: `Running the tests`. */
  title: string;
  stage: string | null;
  attempt: number;
  of: number;
  passed: number;
  tests: number;
  tests_changed: boolean;
  /** Seconds since 1970. */
  started: number;
  seconds: number;
  input_tokens: number;
  output_tokens: number;
  /** `null` when it is not known. */
  cost: number | null;
  max_cost: number | null;
  /** The distributions, or the call of a tool, that wait for consent. */
  approval: string[];
  reason: string;
  signature: string;
  held: string[];
  warnings: string[];
  /** How far an agent is that writes on its own: `turn 4 of 50, 12 tool calls`; empty where none does. */
  agent: string;
  /** From 0 to 1. */
  progress: number;
  /** Changes with what its card shows. */
  step: string;
  cell_id: string | null;
  run_id: string;
  replayed: boolean;
  /** The setting that ended it, such as `max_cost`, and what it was; empty when none did. */
  limit: string;
  limit_value: number | null;
}

/** One column of a table. */
export interface IColumn {
  name: string;
  dtype: string;
}

/** A value of the notebook that a request can refer to: `@name`. */
export interface IVariable {
  name: string;
  /** `DataFrame`, `Series`, `File`, `Dir`, or what converts to a DataFrame. */
  type: string;
  rows?: number;
  /** At most the first hundred. */
  columns?: IColumn[];
  column_count?: number;
  path?: string;
}

/**
 * Something that the kernel finds wrong with a cell.
 *
 * `word` counts the words of the options; `start` and `end` count characters (code points) within that word, without
 * its quotes, or within the request; without an `end` it is all of it.
 */
export interface ICellProblem {
  severity: 'error' | 'warning' | 'info';
  what: string;
  hint: string;
  /** A text that could stand in its place; empty when there is none. */
  instead: string;
  area: 'command' | 'quote' | 'word' | 'request';
  word: number;
  start: number;
  end: number | null;
}

/** What a page may ask of the kernel. */
export type Action =
  | 'cancel'
  | 'approve'
  | 'decline'
  | 'versions'
  | 'card'
  | 'result'
  | 'code'
  | 'call'
  | 'assignment'
  | 'tests'
  | 'export';

/** The way to one kernel. What it holds is what the kernel said last; it forgets all when the kernel restarts. */
export interface IKernelLink {
  /** Whether the kernel has welcomed this page; before that, nothing is known of its values. */
  readonly connected: boolean;
  /** Whether the kernel is known to have nothing of ours: it is gone, began anew, or never loaded the extension. */
  readonly absent: boolean;
  readonly jobs: readonly IJob[];
  /**
   * When the jobs came, by this page's clock, in milliseconds; `seconds` of a running job counts on from there.
   * 0 until they come.
   */
  readonly heardAt: number;
  /** `null` as long as the kernel has not said what it holds. */
  readonly variables: readonly IVariable[] | null;
  /** Names that the notebook has given to other things than data and results, and the types of these. */
  readonly others: { readonly [name: string]: string };
  /** Of the kernel's version of the package; the one that was built in until the kernel has said. */
  readonly vocabulary: IVocabulary;
  /** Something of the above is new. */
  readonly changed: ISignal<IKernelLink, void>;

  /** A person writes a cell, and will probably run it: the kernel may have ready what that needs. */
  prepare(): void;
  /**
   * Ask for something; resolves with the reply's value.
   *
   * Rejects with an `Error` whose message is the kernel's sentence.
   */
  request(action: Action, name: string, path?: string): Promise<string | null>;
  /**
   * Ask what is wrong with a cell, by its text. A busy kernel may answer only when it is free again.
   *
   * Rejects when the kernel is gone, or knows no such question.
   */
  problems(cell: string): Promise<readonly ICellProblem[]>;
}

/** What the person set in the settings page; what is not in it is unset. */
export type Settings = { readonly [name: string]: string | number };

/** What uses a kernel: a notebook or a console. */
export type IUser = Widget & { readonly sessionContext: ISessionContext };

/** The ways to all kernels, one for each. */
export interface ILink {
  /** The link of the kernel of a notebook, or `null` when it has none. */
  forNotebook(user: IUser): IKernelLink | null;
  /** Some notebook has another link than before, or none. */
  readonly changed: ISignal<ILink, void>;
  /** Give these settings to every kernel, now and whenever one is met. */
  configure(values: Settings): void;
  /** A kernel refused some of them; its sentences. */
  readonly refused: ISignal<ILink, readonly string[]>;
}

export const ILink = new Token<ILink>(
  'autocoder-jupyter:ILink',
  'What the kernels of open notebooks say of %%autocode: jobs, data, vocabulary.'
);
