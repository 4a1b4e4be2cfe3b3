/** Formats counts, costs and durations, like the card in the kernel. */

/** `$0.031`. */
export function dollars(cost: number): string {
  return `$${cost.toFixed(cost < 1 ? 3 : 2)}`;
}

/** `00:41`, `1:02:03`: for a running clock, because the width stays the same. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  return hours > 0 ? `${hours}:${padded(minutes)}:${padded(rest)}` : `${padded(minutes)}:${padded(rest)}`;
}

/** `1 attempt`, `3 attempts`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function padded(number: number): string {
  return String(number).padStart(2, '0');
}
