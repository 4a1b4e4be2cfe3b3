import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { ICompletionProviderManager } from '@jupyterlab/completer';
import { INotebookTracker } from '@jupyterlab/notebook';

import { ILink } from '../link/tokens';
import { Knowledge } from './knowledge';
import { MIME_TYPE } from './mimeType';
import { CellCompletion } from './provider';
import { Recognition } from './recognition';
import type { Parser } from './values';

/** What an editor shows of a `%%autocode` cell while it is written. */
const plugin: JupyterFrontEndPlugin<void> = {
  id: 'autocoder-jupyter:editor',
  description: '%%autocode cells as prose, with completion, hover and diagnostics.',
  autoStart: true,
  requires: [INotebookTracker, IEditorLanguageRegistry],
  optional: [ILink, ICompletionProviderManager],
  activate: (
    _app: JupyterFrontEnd,
    notebooks: INotebookTracker,
    languages: IEditorLanguageRegistry,
    link: ILink | null,
    completions: ICompletionProviderManager | null
  ): void => {
    const knowledge = new Knowledge(notebooks, link);
    languages.addLanguage({
      name: 'autocode',
      displayName: '%%autocode',
      mime: MIME_TYPE,
      load: async () => {
        const [{ autocodeLanguage }, python] = await Promise.all([import('./language'), pythonOf(languages)]);
        return autocodeLanguage(knowledge, python);
      }
    });
    completions?.registerProvider(new CellCompletion(knowledge, completions));
    const recognition = new Recognition(languages, panel => link?.forNotebook(panel)?.prepare());
    notebooks.forEach(panel => recognition.follow(panel));
    notebooks.widgetAdded.connect((_, panel) => recognition.follow(panel));
  }
};

/** JupyterLab's own parser of Python; without one, expressions are left to the kernel. */
async function pythonOf(languages: IEditorLanguageRegistry): Promise<Parser | null> {
  const python = await languages.getLanguage('text/x-python').catch(() => null);
  return python?.support?.language.parser ?? null;
}

export default plugin;
