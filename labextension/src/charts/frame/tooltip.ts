/** Shows the values under the pointer, as text only. */
export function tooltip(
  container: HTMLElement
): (handler: unknown, event: MouseEvent, item: unknown, value: unknown) => void {
  const box = document.createElement('div');
  box.className = 'tooltip';
  box.setAttribute('role', 'tooltip');
  box.hidden = true;
  container.after(box);
  return (_handler, event, _item, value) => {
    box.hidden = value === null || value === undefined || value === '';
    if (box.hidden) {
      return;
    }
    const rows = typeof value === 'object' ? Object.entries(value as object) : [['', value] as const];
    box.replaceChildren(
      ...rows.map(([name, content]: readonly [string, unknown]) => {
        const row = document.createElement('div');
        const title = document.createElement('span');
        title.textContent = name;
        row.append(title, String(content));
        return row;
      })
    );
    box.style.left = `${place(event.clientX, box.offsetWidth, innerWidth) + scrollX}px`;
    box.style.top = `${place(event.clientY, box.offsetHeight, innerHeight) + scrollY}px`;
  };
}

const GAP = 12;

/** Beside the pointer, and inside of the frame. */
function place(pointer: number, size: number, available: number): number {
  const after = pointer + GAP;
  return after + size <= available ? after : Math.max(0, pointer - GAP - size);
}
