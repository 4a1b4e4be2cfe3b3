import type { ICellProblem, IKernelLink } from '../../link/tokens';
import { UNKNOWN } from '../knowledge';
import { GRACE, Questions } from '../questions';

const WRONG = [{ what: 'It is wrong.' }] as unknown as ICellProblem[];

/** A kernel that answers when it is told to. */
class FakeKernel {
  readonly connected = true;
  readonly asked: string[] = [];
  private readonly waiting: { resolve: (found: ICellProblem[]) => void; reject: (error: Error) => void }[] = [];

  problems(cell: string): Promise<readonly ICellProblem[]> {
    this.asked.push(cell);
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  answer(found: ICellProblem[]): void {
    this.waiting.shift()?.resolve(found);
  }

  fail(): void {
    this.waiting.shift()?.reject(new Error('The kernel went away.'));
  }
}

let kernel: FakeKernel;
let questions: Questions<object>;
const editor = {};
const answered = jest.fn();

function ask(cell: string, known = UNKNOWN): Promise<readonly ICellProblem[] | null> {
  return questions.problems(editor, cell, known, kernel as unknown as IKernelLink);
}

beforeEach(() => {
  jest.useFakeTimers();
  answered.mockClear();
  kernel = new FakeKernel();
  questions = new Questions(answered);
});

afterEach(() => jest.useRealTimers());

it('gives what the kernel says, and asks once for the same cell', async () => {
  const first = ask('a');
  kernel.answer(WRONG);
  expect(await first).toBe(WRONG);
  expect(await ask('a')).toBe(WRONG);
  expect(kernel.asked).toEqual(['a']);
  expect(answered).not.toHaveBeenCalled();
});

it('asks anew about another text, and when more is known of the notebook', async () => {
  const first = ask('a');
  kernel.answer(WRONG);
  await first;
  const second = ask('b');
  kernel.answer([]);
  expect(await second).toEqual([]);
  const third = ask('b', { ...UNKNOWN, variables: [] });
  kernel.answer(WRONG);
  expect(await third).toBe(WRONG);
  expect(kernel.asked).toEqual(['a', 'b', 'b']);
});

it('does not wait for a busy kernel, and tells when its answer came', async () => {
  const first = ask('a');
  await jest.advanceTimersByTimeAsync(GRACE);
  expect(await first).toBeNull();
  kernel.answer(WRONG);
  await jest.advanceTimersByTimeAsync(0);
  expect(answered).toHaveBeenCalledWith(editor);
  expect(await ask('a')).toBe(WRONG);
});

it('asks a busy kernel one question at a time', async () => {
  const first = ask('a');
  await jest.advanceTimersByTimeAsync(GRACE);
  await first;
  const second = ask('ab');
  await jest.advanceTimersByTimeAsync(GRACE);
  expect(await second).toBeNull();
  expect(kernel.asked).toEqual(['a']);
  kernel.answer(WRONG);
  await jest.advanceTimersByTimeAsync(0);
  void ask('ab');
  expect(kernel.asked).toEqual(['a', 'ab']);
});

it('asks about the newer text as soon as the older one is answered', async () => {
  void ask('a');
  const second = ask('ab');
  kernel.answer([]);
  await jest.advanceTimersByTimeAsync(0);
  expect(kernel.asked).toEqual(['a', 'ab']);
  kernel.answer(WRONG);
  expect(await second).toBe(WRONG);
});

it('has no answer from a kernel that is gone or does not know the question', async () => {
  const failed = ask('a');
  kernel.fail();
  expect(await failed).toBeNull();
  expect(await questions.problems(editor, 'a', UNKNOWN, null)).toBeNull();
});
