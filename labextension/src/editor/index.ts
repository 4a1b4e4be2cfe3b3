import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { ICompletionProviderManager } from '@jupyterlab/completer';
import { INotebookTracker } from '@jupyterlab/notebook';

import { ILink } from '../link/tokens';
import { Knowledge } from './knowledge';
import { MIME_TYPE } from './mimeType';
import { CellCompletion } from './provider';
import { Recognition } from './recognition';

/** The support for writing `%%autocode` cells in an editor. */
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
        const { autocodeLanguage } = await import('./language');
        return autocodeLanguage(knowledge);
      }
    });
    completions?.registerProvider(new CellCompletion(knowledge, completions));
    const recognition = new Recognition(languages, panel => link?.forNotebook(panel)?.prepare());
    notebooks.forEach(panel => recognition.follow(panel));
    notebooks.widgetAdded.connect((_, panel) => recognition.follow(panel));
  }
};

export default plugin;
