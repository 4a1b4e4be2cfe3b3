import type { IVocabulary } from '../vocabulary';
import type { Action, IJob, RequestDetails, IVariable, Settings } from './tokens';

/** Version of the messages, as in `lab/link.py`. A kernel with another version is not listened to. */
export const PROTOCOL = 2;

/** The name under which a kernel opens its comm. */
export const TARGET = 'autocoder_jupyter';

/** A message from a page to a kernel. */
export type Said =
  | { kind: 'hello'; client: string }
  | { kind: 'settings'; values: Settings }
  | { kind: 'prepare' }
  | ({ kind: 'request'; id: string; action: Action; name: string } & RequestDetails)
  | { kind: 'problems'; id: string; cell: string };

/** A message from a kernel to all pages. */
export type Heard =
  | { kind: 'welcome'; client: string; protocol: number; version: string; vocabulary: IVocabulary }
  | { kind: 'settings'; settings: object; refused?: { [name: string]: string } }
  | { kind: 'jobs'; jobs: IJob[] }
  | { kind: 'data'; variables: IVariable[]; others?: { [name: string]: string } }
  | { kind: 'reply'; id: string; ok: true; value: string | null }
  | { kind: 'reply'; id: string; ok: false; error: string };

const KINDS: readonly string[] = ['welcome', 'settings', 'jobs', 'data', 'reply'];

/** The message; `null` if its kind is unknown, because the kernel is newer. */
export function heard(data: unknown): Heard | null {
  if (typeof data !== 'object' || data === null || !('kind' in data)) {
    return null;
  }
  return KINDS.includes(String(data.kind)) ? (data as Heard) : null;
}
