import type { ICellProblem, IKernelLink } from '../link/tokens';
import type { IKnown } from './knowledge';

/** How long an editor waits for the kernel before it shows the problems of the page, in milliseconds. */
export const GRACE = 1000;

type Answer = readonly ICellProblem[] | null;

interface IQuestion {
  cell: string;
  known: IKnown;
  answer: Promise<Answer>;
  isAnswered: boolean;
  /** Whether the editor stopped waiting for the answer. */
  isMissed: boolean;
}

/** Requests the problems of cells from kernels, one request at a time for each editor. */
export class Questions<Editor extends object> {
  private readonly asked = new WeakMap<Editor, IQuestion>();

  /** @param answered called when an answer arrives for which an editor no longer waits */
  constructor(private readonly answered: (editor: Editor) => void) {}

  /**
   * The problems from the kernel; `null` if it ended, is too old, or is busy for too long.
   *
   * @param known the data of the notebook; when they change, the same cell is checked again
   */
  async problems(editor: Editor, cell: string, known: IKnown, link: IKernelLink | null): Promise<Answer> {
    if (link === null || !link.connected) {
      return null;
    }
    const question = this.current(editor, cell, known, link);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>(resolve => {
      timer = setTimeout(() => {
        question.isMissed = true;
        resolve(null);
      }, GRACE);
    });
    const isCurrent = question.cell === cell;
    const answer = await Promise.race([question.answer, late]);
    clearTimeout(timer);
    if (!isCurrent) {
      return question.isMissed ? null : this.problems(editor, cell, known, link);
    }
    return answer;
  }

  /** The request for this cell; the previous request while that has no answer. */
  private current(editor: Editor, cell: string, known: IKnown, link: IKernelLink): IQuestion {
    const before = this.asked.get(editor);
    if (before !== undefined && (!before.isAnswered || (before.cell === cell && isSame(before.known, known)))) {
      return before;
    }
    const question: IQuestion = {
      cell,
      known,
      isAnswered: false,
      isMissed: false,
      answer: link
        .problems(cell)
        .catch(() => null)
        .finally(() => {
          question.isAnswered = true;
          if (question.isMissed) {
            this.answered(editor);
          }
        })
    };
    this.asked.set(editor, question);
    return question;
  }
}

function isSame(one: IKnown, other: IKnown): boolean {
  return one.variables === other.variables && one.others === other.others && one.vocabulary === other.vocabulary;
}
