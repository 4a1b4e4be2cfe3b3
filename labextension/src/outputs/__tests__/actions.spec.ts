import { ActionListener, insertable, sourceOf } from '../actions';

const granted = jest.fn();
const HTML = `
  <div data-autocode-block>
    <button type="button" class="autocode-action" data-autocode-action="copy" aria-label="Copy"></button>
    <button type="button" class="autocode-action" data-autocode-action="insert" aria-label="Insert"><b></b></button>
    <button type="button" class="autocode-action" data-autocode-action="grant" aria-label="Use this reading"></button>
    <pre data-autocode-source>def run():\n    return <span>1</span> &lt; 2</pre>
  </div>
  <button type="button" class="autocode-action" data-autocode-action="copy" aria-label="Astray"></button>
  <button type="button" class="autocode-option-cell" data-autocode-option="--rename a=b" aria-label="Rename"></button>
  <button type="button" class="autocode-option-cell" data-autocode-option="--allow-network" aria-label="Wider"></button>
  <button type="button" class="autocode-refine-cell" aria-label="Refine"></button>
  <div data-autocode-refines="growth">
    <button type="button" class="autocode-keep" aria-label="Keep it as it is"></button>
    <button type="button" class="autocode-reveal" aria-label="Show it"></button>
    <button type="button" class="autocode-do" data-autocode-option="silent-again" aria-label="Try again"></button>
    <button type="button" class="autocode-do" data-autocode-option="approve" aria-label="Forged"></button>
  </div>
  <button type="button" class="autocode-keep" aria-label="Keep what"></button>
  <button type="button" aria-label="Other"></button>`;
const SOURCE = 'def run():\n    return 1 < 2';

const copied = jest.fn();
const inserted = jest.fn();
const withOptions = jest.fn();
const executed = jest.fn();
let node: HTMLElement;
let listener: ActionListener;

function button(words: string): HTMLButtonElement {
  return [...node.querySelectorAll('button')].find(button => button.getAttribute('aria-label') === words)!;
}

const said = (): string | null | undefined => document.querySelector('[role=status]')?.textContent;

beforeEach(() => {
  jest.useFakeTimers();
  copied.mockResolvedValue(undefined);
  Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: copied } });
  node = document.createElement('div');
  node.innerHTML = HTML;
  document.body.replaceChildren(node);
  listener = new ActionListener(node, inserted, granted, withOptions, executed);
});

afterEach(() => {
  listener.dispose();
  jest.useRealTimers();
});

it('finds the source text of the block, without its colours', () => {
  expect(sourceOf(button('Copy'))).toBe(SOURCE);
  expect(sourceOf(button('Astray'))).toBeNull();
});

it('runs its cell again with a renamed column, and with no other option', () => {
  button('Wider').click();
  expect(withOptions).not.toHaveBeenCalled();
  button('Rename').click();
  expect(withOptions).toHaveBeenLastCalledWith(button('Rename'), '--rename a=b');
  button('Refine').click();
  expect(withOptions).toHaveBeenLastCalledWith(button('Refine'), '--refine');
});

it('executes the command of a button for the function that it stands at', () => {
  button('Keep what').click();
  expect(executed).not.toHaveBeenCalled();
  button('Keep it as it is').click();
  button('Show it').click();
  button('Try again').click();
  button('Forged').click();
  expect(executed.mock.calls).toEqual([
    ['keep', 'growth'],
    ['reveal-cell', 'growth'],
    ['silent-again', 'growth']
  ]);
});

it('hands over the cell that takes a reading, to be run', () => {
  const use = button('Use this reading');
  use.click();
  expect(granted).toHaveBeenCalledWith(SOURCE, use);
  expect(inserted).not.toHaveBeenCalled();
});

it('copies, says so on the button and to a screen reader, and then offers it again', async () => {
  const copy = button('Copy');
  copy.click();
  await jest.advanceTimersByTimeAsync(0);
  expect(copied).toHaveBeenCalledWith(SOURCE);
  expect(copy.getAttribute('aria-label')).toBe('Copied');
  expect(said()).toBe('Copied');
  copy.click();
  await jest.advanceTimersByTimeAsync(5000);
  expect(copy.getAttribute('aria-label')).toBe('Copy');
});

it('inserts what the block holds, also when the click hits something inside of the button', () => {
  const insert = button('Insert');
  insert.querySelector('b')?.click();
  expect(inserted).toHaveBeenCalledWith(SOURCE, insert);
  expect(said()).toBe('Inserted');
});

it('leaves other clicks alone', () => {
  for (const words of ['Astray', 'Other']) {
    button(words).click();
  }
  expect([copied.mock.calls, inserted.mock.calls]).toEqual([[], []]);
});

it('does nothing once it is disposed', () => {
  listener.dispose();
  button('Insert').click();
  expect(inserted).not.toHaveBeenCalled();
});

it('gives the function the name of its result, in the places that the kernel has found', () => {
  const block = document.createElement('div');
  block.innerHTML =
    '<div data-autocode-block data-autocode-name="growth" data-autocode-places="9,28"><button></button></div>';
  const inside = block.querySelector('button')!;
  const source = '# \u{1F600}\u{1F600}\ndef run(a):\n    return run(a)';
  expect(insertable(source, inside)).toBe('# \u{1F600}\u{1F600}\ndef growth(a):\n    return growth(a)');
  expect(insertable('something else', inside)).toBe('something else');
  expect(insertable('def run(): pass', button('Copy'))).toBe('def run(): pass');
});
