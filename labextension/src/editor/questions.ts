import type { ICellProblem, IKernelLink } from '../link/tokens';
import type { IKnown } from './knowledge';

/** How long an editor waits for the kernel before it shows what the page itself knows, in milliseconds. */
export const GRACE = 1000;

type Answer = readonly ICellProblem[] | null;

interface IQuestion {
  cell: string;
  known: IKnown;
  answer: Promise<Answer>;
  isAnswered: boolean;
  /** Whether the editor went on without the answer. */
  isMissed: boolean;
}

/** Asks kernels what is wrong with the cells of editors, one question at a time for each editor. */
export class Questions<Editor extends object> {
  private readonly asked = new WeakMap<Editor, IQuestion>();

  /** @param answered is told when an answer came that an editor did not wait for */
  constructor(private readonly answered: (editor: Editor) => void) {}

  /**
   * What the kernel says of a cell; `null` when it is gone, too old, or busy for longer than an editor waits.
   *
   * @param known what the page has heard of the notebook; when that changes, the same cell is asked about again
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

  /** The question about this cell; while the one before it has no answer, that one. */
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
