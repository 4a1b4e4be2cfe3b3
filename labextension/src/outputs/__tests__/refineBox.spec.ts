import { askingCell, refiningCell, toggleRefineBox } from '../refineBox';

const HTML = `
  <div data-autocode-refines="growth"><ul><li>Gaps are "zero". <span>(3 rows)</span>
    <button class="autocode-wish" aria-label="Change"></button></li></ul></div>
  <div data-autocode-refines="growth"><button class="autocode-wish"
    aria-label="Refine"></button></div>
  <div data-autocode-refines="growth"><div>
    <span>Sent counts. <button class="autocode-wish" aria-label="First"></button></span>
    <span>Tax is in. <span>(2 rows)</span> <button class="autocode-wish" aria-label="Second"></button></span></div></div>
  <div data-autocode-refines="growth"><div><button class="autocode-keep" aria-label="Keep it as it is"></button>
    <button class="autocode-wish" aria-label="Other" data-autocode-option="Subtract the discount."></button></div></div>`;

const granted = jest.fn();
const button = (label: string): HTMLButtonElement => document.querySelector(`[aria-label="${label}"]`)!;
const box = (): HTMLFormElement | null => document.querySelector('form.jp-AutocodeRefine');
const words = (): HTMLTextAreaElement => box()!.querySelector('textarea')!;
const press = (key: string, more: KeyboardEventInit = {}): boolean =>
  words().dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));

beforeEach(() => {
  document.body.innerHTML = HTML;
  granted.mockClear();
});

it('opens below what it is about, with the focus in it, and closes by the same button', () => {
  toggleRefineBox(button('Change'), granted);
  expect(box()!.parentElement!.tagName).toBe('LI');
  expect(document.activeElement).toBe(words());
  expect(button('Change').getAttribute('aria-expanded')).toBe('true');
  toggleRefineBox(button('Change'), granted);
  expect(box()).toBeNull();
  expect(document.activeElement).toBe(button('Change'));
});

it('makes a cell of what holds instead', () => {
  toggleRefineBox(button('Change'), granted);
  words().value = ' Gaps are left out.\n';
  press('Enter');
  expect(granted).toHaveBeenCalledWith('%%autocode growth --refine\nInstead of "Gaps are "zero".": Gaps are left out.');
  expect(box()).toBeNull();
});

it('changes one sentence of a paragraph, and another one in its place', () => {
  toggleRefineBox(button('First'), granted);
  toggleRefineBox(button('Second'), granted);
  expect(document.querySelectorAll('form')).toHaveLength(1);
  expect(button('First').getAttribute('aria-expanded')).toBe('false');
  words().value = 'Tax is not in.';
  press('Enter');
  expect(granted).toHaveBeenCalledWith('%%autocode growth --refine\nInstead of "Tax is in.": Tax is not in.');
});

it('goes on with the words of a reading', () => {
  toggleRefineBox(button('Other'), granted);
  expect(words().value).toBe('Subtract the discount.');
  words().value += ' Only of 2024.';
  press('Enter');
  expect(granted).toHaveBeenCalledWith('%%autocode growth --refine\nSubtract the discount. Only of 2024.');
});

it('asks a question about the result by its button, or by Enter after a question mark', () => {
  const submit = (label: string): void => {
    [...box()!.querySelectorAll('button')].find(one => one.textContent === label)!.click();
  };
  toggleRefineBox(button('Refine'), granted);
  words().value = ' Why did "March" fall?\n';
  press('Enter');
  expect(granted).toHaveBeenLastCalledWith('growth.ask("Why did \\"March\\" fall?")');
  toggleRefineBox(button('Refine'), granted);
  words().value = 'Explain March.';
  submit('Ask');
  expect(granted).toHaveBeenLastCalledWith('growth.ask("Explain March.")');
  toggleRefineBox(button('Refine'), granted);
  words().value = 'Also by region, why not?';
  submit('Refine');
  expect(granted).toHaveBeenLastCalledWith('%%autocode growth --refine\nAlso by region, why not?');
  toggleRefineBox(button('Change'), granted);
  expect(box()!.textContent).not.toContain('Ask');
  words().value = 'Are gaps left out?';
  press('Enter');
  expect(granted).toHaveBeenLastCalledWith(
    '%%autocode growth --refine\nInstead of "Gaps are "zero".": Are gaps left out?'
  );
});

it('writes a question as a string of Python', () => {
  expect(askingCell('f', 'a\\b\n"c"')).toBe('f.ask("a\\\\b\\n\\"c\\"")');
});

it('takes nothing for no wish, a new line by Shift, and Escape for no', () => {
  toggleRefineBox(button('Refine'), granted);
  press('Enter');
  expect(box()).not.toBeNull();
  words().value = 'Also by region.';
  expect(press('Enter', { shiftKey: true })).toBe(true);
  press('Escape');
  expect(box()).toBeNull();
  expect(granted).not.toHaveBeenCalled();
});

it('keeps its keys from the notebook', () => {
  const heard = jest.fn();
  document.body.addEventListener('keydown', heard);
  toggleRefineBox(button('Refine'), granted);
  press('d');
  expect(heard).not.toHaveBeenCalled();
});

it('keeps what looks like an option away from the first line', () => {
  const about = { name: 'f', instead: null };
  expect(refiningCell(about, '--wait for it')).toBe('%%autocode f --refine\n\n--wait for it');
  expect(refiningCell(about, '- a point')).toBe('%%autocode f --refine\n- a point');
});
