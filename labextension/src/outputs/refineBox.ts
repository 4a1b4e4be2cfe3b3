/** The data of a button that refines a function, from its position. */
export interface IRefineButton {
  /** The name of the result. */
  name: string;
  /** The assumption to replace; `null` for any change. */
  instead: string | null;
  /** The text of the change, to go on with. */
  begun: string;
}

/** The data of a button; `null` if it does not refine a function. */
export function refineButton(button: HTMLElement): IRefineButton | null {
  const name = button.closest<HTMLElement>('[data-autocode-refines]')?.dataset.autocodeRefines;
  if (!button.classList.contains('autocode-wish') || !name) {
    return null;
  }
  const parent = button.parentElement!;
  const line = button.closest('li') !== null || parent.tagName === 'SPAN' ? parent : null; // an assumption, its rows
  const instead = line && (line.firstChild?.textContent ?? '').trim();
  return { name, instead, begun: button.dataset.autocodeOption ?? '' };
}

/** The cell that refines a function. An empty line separates a text that looks like options from the first line. */
export function refiningCell({ name, instead }: Omit<IRefineButton, 'begun'>, words: string): string {
  const change = instead === null ? words.trim() : `Instead of "${instead}": ${words.trim()}`;
  return `%%autocode ${name} --refine\n${/^\s*--?[A-Za-z]/.test(change) ? '\n' : ''}${change}`;
}

/** Events in the form that must not reach the keyboard shortcuts of the notebook. */
const OWN_KEYS = ['keydown', 'keypress', 'keyup', 'mousedown', 'dblclick'];

/**
 * Open a form below a button for the change that the user wants; a second click closes it.
 *
 * @param button the clicked button
 * @param runCell called with the text of the cell that refines the function
 */
export function toggleRefineBox(button: HTMLElement, runCell: (cell: string) => void): void {
  const about = refineButton(button);
  const place = button.closest<HTMLElement>('li, [data-autocode-refines]') ?? button.parentElement;
  if (about === null || place === null) {
    return;
  }
  const open = place.querySelector<HTMLFormElement>(':scope > form.jp-AutocodeRefine');
  if (open !== null) {
    const opener = place.querySelector<HTMLElement>('button[aria-expanded="true"]') ?? button;
    close(open, opener);
    if (opener === button) {
      return;
    }
  }
  const form = makeForm(about);
  const words = form.querySelector('textarea')!;
  form.addEventListener('submit', event => {
    event.preventDefault();
    if (words.value.trim() === '') {
      words.focus();
      return;
    }
    close(form, button);
    runCell(refiningCell(about, words.value));
  });
  form.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      close(form, button);
    } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      if (event.target === words) {
        event.preventDefault();
        form.requestSubmit();
      }
    }
  });
  form.querySelector('button[type=button]')!.addEventListener('click', () => close(form, button));
  for (const kind of OWN_KEYS) {
    form.addEventListener(kind, event => event.stopPropagation());
  }
  button.setAttribute('aria-expanded', 'true');
  place.append(form);
  words.focus();
}

function makeForm({ name, instead, begun }: IRefineButton): HTMLFormElement {
  const form = document.createElement('form');
  form.className = 'jp-AutocodeRefine';
  const words = document.createElement('textarea');
  words.rows = 2;
  words.value = begun;
  words.placeholder = instead === null ? 'What should change' : 'What to assume instead';
  words.setAttribute('aria-label', `${words.placeholder}: ${name}`);
  form.append(words, makeButton('submit', 'Refine'), makeButton('button', 'Close'));
  return form;
}

function makeButton(type: 'submit' | 'button', label: string): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = type;
  button.textContent = label;
  return button;
}

function close(form: HTMLFormElement, button: HTMLElement): void {
  form.remove();
  button.setAttribute('aria-expanded', 'false');
  button.focus();
}
