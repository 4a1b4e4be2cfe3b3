/** What a button that takes a wish is about, from where it stands. */
export interface IWishButton {
  /** Of the result. */
  name: string;
  /** The assumption that is to hold no more; `null` where anything may be wished. */
  instead: string | null;
}

/** What a button is about; `null` when it takes no wish. */
export function wishButton(button: HTMLElement): IWishButton | null {
  const name = button.closest<HTMLElement>('[data-autocode-refines]')?.dataset.autocodeRefines;
  if (!button.classList.contains('autocode-wish') || !name) {
    return null;
  }
  return { name, instead: button.closest('li') === null ? null : (button.previousSibling?.textContent ?? '').trim() };
}

/** The cell that grants a wish. A text that looks like options is kept away from the first line by an empty one. */
export function refiningCell({ name, instead }: IWishButton, words: string): string {
  const wish = instead === null ? words.trim() : `Instead of "${instead}": ${words.trim()}`;
  return `%%autocode ${name} --refine\n${/^\s*--?[A-Za-z]/.test(wish) ? '\n' : ''}${wish}`;
}

/** Words in the line of an editable part are not the notebook's commands. */
const OWN_KEYS = ['keydown', 'keypress', 'keyup', 'mousedown', 'dblclick'];

/**
 * Open a box below a button in which a person writes what is to be otherwise; a second click closes it.
 *
 * @param button that was pressed
 * @param grant is given the cell that grants the wish
 */
export function toggleWishBox(button: HTMLElement, grant: (cell: string) => void): void {
  const about = wishButton(button);
  const place = button.closest<HTMLElement>('li, [data-autocode-refines]') ?? button.parentElement;
  if (about === null || place === null) {
    return;
  }
  const open = place.querySelector<HTMLFormElement>(':scope > form.jp-AutocodeWish');
  if (open !== null) {
    close(open, button);
    return;
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
    grant(refiningCell(about, words.value));
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

function makeForm({ name, instead }: IWishButton): HTMLFormElement {
  const form = document.createElement('form');
  form.className = 'jp-AutocodeWish';
  const words = document.createElement('textarea');
  words.rows = 2;
  words.placeholder = instead === null ? 'What should be different' : 'What holds instead';
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
