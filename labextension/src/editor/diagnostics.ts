import type { Diagnostic } from '@codemirror/lint';
import { forEachDiagnostic, linter, lintKeymap, nextDiagnostic } from '@codemirror/lint';
import type { Extension } from '@codemirror/state';
import { EditorView, keymap } from '@codemirror/view';

import { parseCell } from './cell';
import type { Knowledge } from './knowledge';
import { isNews, tellNews } from './knowledge';
import type { IProblem } from './problems';
import { ownProblems, placed } from './problems';
import { Questions } from './questions';

/** Underlines problems. F8 goes to the next problem and announces it, Ctrl Shift M lists all. */
export function diagnostics(knowledge: Knowledge): Extension {
  const questions = new Questions<EditorView>(tellNews);
  return [
    linter(view => diagnose(view, knowledge, questions), { needsRefresh: isNews }),
    keymap.of([{ key: 'F8', run: goToNext }, ...lintKeymap])
  ];
}

/** The problems from the kernel; if it does not answer, those that the page finds. */
async function diagnose(
  view: EditorView,
  knowledge: Knowledge,
  questions: Questions<EditorView>
): Promise<Diagnostic[]> {
  const known = knowledge.for(view);
  const text = view.state.doc.toString();
  const cell = parseCell(text, known.vocabulary);
  if (cell === null) {
    return [];
  }
  const said = await questions.problems(view, text, known, knowledge.linkOf(view));
  return (said === null ? ownProblems(cell, known.absent) : placed(said, cell)).map(diagnosticOf);
}

function diagnosticOf({ from, to, severity, what, hint, instead }: IProblem): Diagnostic {
  const isOnButton = instead !== undefined && hint.startsWith(`Write ${instead} `);
  const message = hint === '' || isOnButton ? what : `${what}\n${hint}`;
  const plain: Diagnostic = { from, to, severity, message, renderMessage: () => told(message) };
  if (instead === undefined) {
    return plain;
  }
  const apply = (view: EditorView, start: number, end: number): void =>
    view.dispatch({ changes: { from: start, to: end, insert: instead } });
  return { ...plain, actions: [{ name: `Write ${instead} (Tab)`, apply }] };
}

/** The message in a box, which stands outside of the cell, and has our style by this class. */
function told(message: string): HTMLElement {
  const node = document.createElement('span');
  node.className = 'autocode-problem';
  node.textContent = message;
  return node;
}

/** Writes the other text of an underlined range at the cursor, if it has one. Returns whether it did. */
export function writeOffer(view: EditorView, offset: number): boolean {
  let write: (() => void) | null = null;
  forEachDiagnostic(view.state, ({ actions }, from, to) => {
    if (from < offset && offset <= to && actions?.length) {
      write = () => actions[0].apply(view, from, to);
    }
  });
  (write as (() => void) | null)?.();
  return write !== null;
}

function goToNext(view: EditorView): boolean {
  if (!nextDiagnostic(view)) {
    return false;
  }
  const { from, to } = view.state.selection.main;
  forEachDiagnostic(view.state, ({ message, actions = [] }, start, end) => {
    if (start === from && end === to) {
      view.dispatch({ effects: EditorView.announce.of([message, ...actions.map(({ name }) => name)].join(' ')) });
    }
  });
  return true;
}
