import { keepKeys } from './focus';

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

/** The cell that asks about the result of a function. JSON's strings are strings of Python, too. */
export function askingCell(name: string, words: string): string {
  return `${name}.ask(${JSON.stringify(words.trim())})`;
}

/**
 * Open a form below a button for the change that the user wants, or for a question about the result; a second click
 * closes it. Enter asks what ends with a question mark.
 *
 * @param button the clicked button
 * @param runCell called with the text of the cell that refines the function, or asks about it
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
  const send = (asks: boolean): void => {
    if (words.value.trim() === '') {
      words.focus();
      return;
    }
    close(form, button);
    runCell(asks ? askingCell(about.name, words.value) : refiningCell(about, words.value));
  };
  form.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      close(form, button);
    } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      if (event.target === words) {
        event.preventDefault();
        send(canAsk(about) && /\?\s*$/.test(words.value));
      }
    }
  });
  const actions = [
    ['Refine', () => send(false)],
    ...(canAsk(about) ? [['Ask', () => send(true)] as const] : []),
    ['Close', () => close(form, button)]
  ] as const;
  for (const [label, act] of actions) {
    const action = document.createElement('button');
    action.type = 'button';
    action.className = `jp-Button jp-mod-styled${label === 'Refine' ? ' jp-mod-accept' : ''}`;
    action.textContent = label;
    action.addEventListener('click', act);
    form.append(action);
  }
  keepKeys(form);
  button.setAttribute('aria-expanded', 'true');
  place.append(form);
  words.focus();
}

/** Whether a form is for any change, and not for another assumption or reading. */
function canAsk({ instead, begun }: IRefineButton): boolean {
  return instead === null && begun === '';
}

function makeForm(about: IRefineButton): HTMLFormElement {
  const { name, instead, begun } = about;
  const form = document.createElement('form');
  form.className = 'jp-AutocodeRefine';
  const words = document.createElement('textarea');
  words.rows = 2;
  words.value = begun;
  words.placeholder = canAsk(about)
    ? 'What should change, or a question about the result'
    : instead === null
      ? 'What should change'
      : 'What to assume instead';
  words.setAttribute('aria-label', `${words.placeholder}: ${name}`);
  form.append(words);
  return form;
}

function close(form: HTMLFormElement, button: HTMLElement): void {
  form.remove();
  button.setAttribute('aria-expanded', 'false');
  button.focus();
}
