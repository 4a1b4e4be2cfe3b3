import type { Wire } from '../kernelLink';
import type { Said } from '../messages';
import type { IJob } from '../tokens';

/** A comm without a kernel: keeps what was said, and says what a test wants. */
export class FakeComm implements Wire {
  constructor(readonly commId: string) {}

  readonly said: Said[] = [];
  isDisposed = false;
  onMsg: Wire['onMsg'] = () => undefined;
  onClose: Wire['onClose'] = () => undefined;

  send(data: Said): void {
    this.said.push(data);
  }

  hear(data: unknown): void {
    void this.onMsg({ content: { comm_id: this.commId, data } } as Parameters<Wire['onMsg']>[0]);
  }

  close(): void {
    void this.onClose({} as Parameters<Wire['onClose']>[0]);
    this.isDisposed = true;
  }
}

/** A job that has just begun, but for what is given. */
export function job(given: Partial<IJob>): IJob {
  return {
    name: 'growth',
    phase: 'running',
    title: 'Starting',
    tone: 'busy',
    facts: [],
    rows: {},
    started: 0,
    seconds: 0,
    cost: 0,
    asks: '',
    question: '',
    progress: 0,
    step: '',
    actions: [],
    buttons: {},
    cell_id: null,
    limit: '',
    limit_value: null,
    limit_next: null,
    ...given
  };
}
