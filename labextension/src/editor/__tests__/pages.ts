import type { JupyterFrontEnd } from '@jupyterlab/application';
import { CodeEditor } from '@jupyterlab/codeeditor';
import {
  CodeMirrorEditor,
  EditorExtensionRegistry,
  EditorLanguageRegistry,
  EditorThemeRegistry,
  ybinding
} from '@jupyterlab/codemirror';
import type { ICompletionProvider } from '@jupyterlab/completer';
import { Completer, CompleterModel, CompletionHandler, ProviderReconciliator } from '@jupyterlab/completer';
import type { INotebookTracker } from '@jupyterlab/notebook';
import { NotebookPanel } from '@jupyterlab/notebook';
import type { IYText } from '@jupyter/ydoc';
import { EditorView } from '@codemirror/view';
import { MessageLoop } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import plugin from '..';
import type { ICellProblem, IKernelLink, ILink, IVariable } from '../../link/tokens';
import { VOCABULARY } from '../../vocabulary';
import { TOLD } from './cases';

const PYTHON = 'text/x-python';

/** Longer than anything that an editor does later, in milliseconds. */
const PAUSE = 2000;

/** A link to a kernel with the data of the table; it finds what is wrong with the cells of the table. */
export class FakeLink {
  connected = true;
  absent = false;
  variables: readonly IVariable[] | null = TOLD.variables;
  others = {};
  vocabulary = VOCABULARY;
  wrong: { [cell: string]: readonly ICellProblem[] } = Object.fromEntries(
    TOLD.cells.map(({ cell, problems }) => [cell, problems])
  );
  readonly prepare = jest.fn();
  readonly changed = new Signal<IKernelLink, void>(this as unknown as IKernelLink);

  async problems(cell: string): Promise<readonly ICellProblem[]> {
    return this.wrong[cell] ?? [];
  }

  says(change: Partial<FakeLink>): void {
    Object.assign(this, change);
    this.changed.emit();
  }
}

/** An open notebook with these cells, in JupyterLab's editors, with our plugin. Its spec uses Jest's timers. */
export class Page {
  readonly link = new FakeLink();
  private readonly panel = Object.create(NotebookPanel.prototype) as NotebookPanel;
  private readonly editors: CodeMirrorEditor[];
  private readonly providers: ICompletionProvider[] = [];

  constructor(...cells: string[]) {
    document.body.replaceChildren();
    const [languages, extensions] = [new EditorLanguageRegistry(), new EditorExtensionRegistry()];
    const themes = new EditorThemeRegistry();
    EditorThemeRegistry.getDefaultThemes().forEach(theme => themes.addTheme(theme));
    EditorLanguageRegistry.getDefaultLanguages().forEach(language => languages.addLanguage(language));
    EditorExtensionRegistry.getDefaultExtensions({ themes }).forEach(extension => extensions.addExtension(extension));
    extensions.addExtension({
      name: 'shared-model-binding',
      factory: ({ model }) =>
        EditorExtensionRegistry.createImmutableExtension(ybinding({ ytext: (model.sharedModel as IYText).ysource }))
    });
    const models = cells.map(source => {
      const model = Object.assign(new CodeEditor.Model({ mimeType: PYTHON }), { type: 'code' });
      model.sharedModel.setSource(source);
      return model;
    });
    this.editors = models.map(model => {
      const host = document.body.appendChild(document.createElement('div'));
      return new CodeMirrorEditor({
        host,
        model,
        languages,
        extensionsRegistry: extensions,
        config: { lineWrap: false }
      });
    });
    const changed = (): Signal<object, void> => new Signal<object, void>({});
    const model = { cells: Object.assign(models, { changed: changed() }) };
    const widgets = models.map((model, at) => ({ model, editor: this.editors[at] }));
    Object.assign(this.panel, {
      model,
      content: { model, widgets, modelChanged: changed(), codeMimetype: PYTHON }
    });
    const panels = [this.panel];
    const tracker = {
      widgetAdded: changed(),
      forEach: panels.forEach.bind(panels),
      find: panels.find.bind(panels),
      filter: panels.filter.bind(panels)
    };
    void plugin.activate(
      {} as JupyterFrontEnd,
      tracker as unknown as INotebookTracker,
      languages,
      { changed: changed(), forNotebook: () => this.link } as unknown as ILink,
      { registerProvider: (provider: ICompletionProvider) => this.providers.push(provider) }
    );
  }

  view(at = 0): EditorView {
    return this.editors[at].editor;
  }

  text(at = 0): string {
    return this.view(at).state.doc.toString();
  }

  /** The texts of the parts of a cell with this class. */
  parts(name: string, at = 0): (string | null)[] {
    return [...this.view(at).contentDOM.querySelectorAll(`.${name}`)].map(part => part.textContent);
  }

  async settle(): Promise<void> {
    await jest.advanceTimersByTimeAsync(PAUSE);
    MessageLoop.flush(); // a menu is drawn
  }

  /** Types text where the cursor is, key by key, and waits. */
  async type(text: string, at = 0): Promise<void> {
    const view = this.view(at);
    for (const key of text) {
      if (key === '\n') {
        this.press('Enter', at);
        continue;
      }
      const { from, to } = view.state.selection.main;
      const insert = () => view.state.update(view.state.replaceSelection(key), { userEvent: 'input.type' });
      if (!view.state.facet(EditorView.inputHandler).some(handle => handle(view, from, to, key, insert))) {
        view.dispatch(insert());
      }
    }
    await this.settle();
  }

  press(key: string, at = 0, more: KeyboardEventInit = {}): void {
    const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more });
    this.view(at).contentDOM.dispatchEvent(event);
  }

  select(from: number, to = from, at = 0): void {
    this.view(at).dispatch({ selection: { anchor: from, head: to } });
  }

  /** Moves the pointer to the first of these words. Where text stands is not known without a layout. */
  async point(words: string, at = 0): Promise<void> {
    const view = this.view(at);
    jest.spyOn(view, 'posAtCoords').mockReturnValue(this.text(at).indexOf(words) + 1);
    jest.spyOn(view, 'coordsAtPos').mockReturnValue({ left: 0, right: 0, top: 0, bottom: 0 });
    view.contentDOM.querySelector('.cm-line')!.dispatchEvent(new MouseEvent('mousemove', { bubbles: true }));
    await this.settle();
  }

  async pointElsewhere(at = 0): Promise<void> {
    const far = { bubbles: true, clientX: 500, clientY: 500 };
    this.view(at).contentDOM.dispatchEvent(new MouseEvent('mousemove', far));
    await this.settle();
  }

  /** JupyterLab's menu of completions for a cell; `invoke` is what Tab does there. */
  menu(at = 0): CompletionHandler {
    const editor = this.editors[at];
    const completer = new Completer({ editor: null, model: new CompleterModel() });
    const context = { editor, widget: this.panel };
    const reconciliator = new ProviderReconciliator({ context, providers: this.providers, timeout: 1000 } as never);
    const handler = new CompletionHandler({ completer, reconciliator });
    handler.editor = editor;
    completer.hide();
    Widget.attach(completer, document.body);
    return handler;
  }
}

/** The entries of a menu that is open. How many of them are drawn depends on the layout. */
export function offered({ completer }: CompletionHandler): string[] {
  return completer.isVisible ? completer.model!.completionItems().map(({ insertText }) => insertText!) : [];
}
