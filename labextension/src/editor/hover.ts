import type { Extension } from '@codemirror/state';
import { StateEffect, StateField } from '@codemirror/state';
import type { Tooltip } from '@codemirror/view';
import { EditorView, hoverTooltip, keymap, showTooltip } from '@codemirror/view';

import type { ICell } from './cell';
import { parseCell } from './cell';
import { brought } from './declarations';
import type { IDescription } from './describe';
import { asText, describeOption, describeVariable } from './describe';
import type { IKnown, Knowledge } from './knowledge';
import type { IRange } from './words';

/**
 * A tooltip for the word under the pointer: shape and columns of a variable, or the help of an option.
 *
 * Ctrl F1 shows the tooltip for the word at the cursor, and announces it.
 */
export function hover(knowledge: Knowledge): Extension {
  const under = (view: EditorView, position: number): Tooltip | null =>
    tooltipOf(descriptionAt(view, position, knowledge.for(view)));
  return [
    hoverTooltip(under, { hideOnChange: true }),
    shown,
    EditorView.focusChangeEffect.of((_, focused) => (focused ? null : show.of(null))),
    keymap.of([{ key: 'Ctrl-F1', run: view => showAtCursor(view, knowledge.for(view)) }])
  ];
}

const show = StateEffect.define<Tooltip | null>();

/** The tooltip that was opened by the keyboard; it closes when the cursor moves. */
const shown = StateField.define<Tooltip | null>({
  create: () => null,
  update: (before, { effects, docChanged, selection }) => {
    const asked = effects.find(effect => effect.is(show));
    return asked ? (asked.value as Tooltip | null) : docChanged || selection ? null : before;
  },
  provide: field => showTooltip.from(field)
});

function showAtCursor(view: EditorView, known: IKnown): boolean {
  const description = descriptionAt(view, view.state.selection.main.head, known);
  if (description === null) {
    return false;
  }
  view.dispatch({ effects: [show.of(tooltipOf(description)), EditorView.announce.of(asText(description))] });
  return true;
}

/** The description of the word at a position, and its range; `null` without one. */
export function described(cell: ICell, position: number, { variables }: IKnown): (IRange & IDescription) | null {
  const at = ({ from, to }: IRange): boolean => from <= position && position <= to;
  const given = cell.given.find(given => at(given.at));
  if (given?.option) {
    return { ...describeOption(given.option), ...given.at };
  }
  const reference = cell.references.find(at);
  const variable = variables?.find(({ name }) => name === reference?.name);
  if (reference === undefined || variable === undefined || brought(cell).includes(variable.name)) {
    return null;
  }
  return { ...describeVariable(variable), from: reference.from, to: reference.to };
}

function descriptionAt(view: EditorView, position: number, known: IKnown): (IRange & IDescription) | null {
  const cell = parseCell(view.state.doc.toString(), known.vocabulary);
  return cell === null ? null : described(cell, position, known);
}

function tooltipOf(description: (IRange & IDescription) | null): Tooltip | null {
  if (description === null) {
    return null;
  }
  const { from, to } = description;
  return { pos: from, end: to, above: true, create: () => ({ dom: box(description) }) };
}

function box({ title, line, rows, more }: IDescription): HTMLElement {
  const dom = element('div', 'autocode-hover');
  dom.setAttribute('role', 'tooltip');
  dom.append(element('strong', 'autocode-hover-title', title), element('div', 'autocode-hover-line', line));
  if (rows.length > 0) {
    const table = element('table', 'autocode-hover-columns');
    for (const { name, dtype } of rows) {
      const row = element('tr');
      row.append(element('td', '', name), element('td', 'autocode-hover-dtype', dtype));
      table.append(row);
    }
    dom.append(table);
  }
  if (more > 0) {
    dom.append(element('div', 'autocode-hover-more', `and ${more} more`));
  }
  return dom;
}

function element(tag: string, className = '', text = ''): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}
