import type { EditorState, Range } from '@codemirror/state';
import type { DecorationSet, ViewUpdate } from '@codemirror/view';
import { Decoration, ViewPlugin } from '@codemirror/view';

import { parseCell } from './cell';
import type { IKnown, Knowledge } from './knowledge';
import { isNews } from './knowledge';
import { partsOf } from './spans';

/** Colours the parts of a cell. */
export function highlight(knowledge: Knowledge) {
  return ViewPlugin.define(
    view => {
      let decorations = decorate(view.state, knowledge.for(view));
      return {
        get decorations(): DecorationSet {
          return decorations;
        },
        update(update: ViewUpdate): void {
          if (update.docChanged || isNews(update)) {
            decorations = decorate(update.state, knowledge.for(update.view));
          }
        }
      };
    },
    { decorations: plugin => plugin.decorations }
  );
}

function decorate(state: EditorState, { vocabulary, variables }: IKnown): DecorationSet {
  const cell = parseCell(state.doc.toString(), vocabulary);
  if (cell === null) {
    return Decoration.none;
  }
  const decorations: Range<Decoration>[] = partsOf(cell, variables).map(({ part, from, to }) =>
    Decoration.mark({ class: `autocode-${part}` }).range(from, to)
  );
  for (let number = 1; number <= state.doc.lines; number++) {
    const { from } = state.doc.line(number);
    const place = from <= cell.head.to ? 'autocode-head' : 'autocode-prose';
    decorations.push(Decoration.line({ class: place }).range(from));
  }
  return Decoration.set(decorations, true);
}
