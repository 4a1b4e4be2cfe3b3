import { LanguageSupport, StreamLanguage } from '@codemirror/language';
import { EditorView } from '@codemirror/view';

import { diagnostics } from './diagnostics';
import { highlight } from './highlight';
import { hover } from './hover';
import type { Knowledge } from './knowledge';

/** Text that no programming language colours, indents or closes brackets in. */
const prose = StreamLanguage.define({
  name: 'autocode',
  token: stream => {
    stream.skipToEnd();
    return null;
  },
  languageData: { closeBrackets: { brackets: ['(', '[', '{', '"'] } }
});

/** The language of `%%autocode` cells; its extensions are active only in editors with that language. */
export function autocodeLanguage(knowledge: Knowledge): LanguageSupport {
  return new LanguageSupport(prose, [
    EditorView.lineWrapping,
    EditorView.editorAttributes.of({ class: 'autocode-cell' }),
    EditorView.contentAttributes.of({ 'aria-label': 'Request, an %%autocode cell' }),
    highlight(knowledge),
    hover(knowledge),
    diagnostics(knowledge)
  ]);
}
