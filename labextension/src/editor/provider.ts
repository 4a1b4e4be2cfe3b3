import type {
  CompletionHandler,
  ICompletionContext,
  ICompletionProvider,
  ICompletionProviderManager
} from '@jupyterlab/completer';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';
import { CompletionTriggerKind } from '@jupyterlab/completer';
import { Text } from '@jupyterlab/coreutils';
import { NotebookPanel } from '@jupyterlab/notebook';
import type { SourceChange } from '@jupyter/ydoc';

import type { ICompletions } from './completions';
import { complete } from './completions';
import { writeOffer } from './diagnostics';
import type { Knowledge } from './knowledge';

const KERNEL = 'CompletionProvider:kernel';
const WORDS = 'CompletionProvider:context';

/** Completes `%%autocode` cells with the data of the page; it asks the kernel only if necessary. */
export class CellCompletion implements ICompletionProvider {
  readonly identifier = 'CompletionProvider:autocode';
  readonly rank = 1100;
  /** The cursor in an `%%autocode` cell, and whether the kernel must be asked. */
  private readonly ownCells = new WeakMap<ICompletionContext, boolean>();
  private readonly silenced = new WeakSet<ICompletionProvider>();

  constructor(
    private readonly knowledge: Knowledge,
    private readonly manager: ICompletionProviderManager
  ) {}

  async isApplicable(context: ICompletionContext): Promise<boolean> {
    this.ownCells.delete(context);
    const found = this.here(context);
    if (found === null) {
      return false;
    }
    this.ownCells.set(context, found.kernelKnows);
    this.silence(KERNEL, place => this.ownCells.get(place) === false);
    this.silence(WORDS, place => this.ownCells.has(place));
    return true;
  }

  async fetch(
    request: CompletionHandler.IRequest,
    context: ICompletionContext,
    trigger?: CompletionTriggerKind
  ): Promise<CompletionHandler.ICompletionItemsReply> {
    const offset = Text.charIndexToJsIndex(request.offset, request.text);
    const found = this.at(request.text, offset, context);
    if (found?.items.length === 0 && trigger === CompletionTriggerKind.Invoked && this.writesOffer(context, offset)) {
      return { start: request.offset, end: request.offset, items: [] };
    }
    return {
      start: Text.jsIndexToCharIndex(found?.from ?? offset, request.text),
      end: request.offset,
      items: (found?.items ?? []).map(({ text, kind, info }) => ({
        label: text,
        insertText: text,
        type: kind,
        documentation: info || undefined
      }))
    };
  }

  /** Opens the menu while typing, if that is enabled: after `@`, a dash, or the start of a value. */
  shouldShowContinuousHint(visible: boolean, { sourceChange }: SourceChange, context?: ICompletionContext): boolean {
    const typed = (sourceChange ?? []).map(({ insert }) => insert ?? '').join('');
    const deleted = sourceChange?.some(delta => delta.delete !== undefined) ?? false;
    if (visible || deleted || [...typed].length !== 1 || context === undefined) {
      return false;
    }
    const found = this.here(context);
    return found !== null && (found.items.length > 0 || found.kernelKnows);
  }

  private here(context: ICompletionContext): ICompletions | null {
    const { editor, widget } = context;
    if (!editor || !(widget instanceof NotebookPanel)) {
      return null;
    }
    return this.at(editor.model.sharedModel.getSource(), editor.getOffsetAt(editor.getCursorPosition()), context);
  }

  /** Write what an underlined name at the cursor should be, such as `@sales`: Tab does what a click does. */
  private writesOffer({ editor }: ICompletionContext, offset: number): boolean {
    const view = (editor as CodeMirrorEditor | undefined)?.editor;
    return view !== undefined && writeOffer(view, offset);
  }

  private at(text: string, offset: number, { widget }: ICompletionContext): ICompletions | null {
    const panel = widget instanceof NotebookPanel ? widget : undefined;
    const { vocabulary, variables } = this.knowledge.of(panel);
    return complete(text, offset, vocabulary, variables);
  }

  /**
   * JupyterLab waits for all providers, including a busy kernel, and merges their completions: Python names in the
   * request, and words of the cell. No setting disables them for one language, so their `isApplicable` is replaced.
   */
  private silence(identifier: string, isSilentIn: (place: ICompletionContext) => boolean): void {
    const { getProviders } = this.manager as { getProviders?: () => Map<string, ICompletionProvider> };
    const provider = getProviders?.call(this.manager).get(identifier);
    if (provider === undefined || this.silenced.has(provider)) {
      return;
    }
    this.silenced.add(provider);
    const applies = provider.isApplicable.bind(provider);
    provider.isApplicable = async context => !isSilentIn(context) && applies(context);
  }
}
