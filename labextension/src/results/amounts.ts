/** Formats counts, costs and durations, like the card in the kernel. */

/** `950`, `12.3K`, `1.2M`. */
export function amount(count: number): string {
  if (count < 1000) {
    return String(count);
  }
  return count < 999_950 ? `${(count / 1000).toFixed(1)}K` : `${(count / 1e6).toFixed(1)}M`;
}

/** `$0.031`, or `cost unknown`. */
export function dollars(cost: number | null): string {
  if (cost === null) {
    return 'cost unknown';
  }
  return `$${cost.toFixed(cost < 1 ? 3 : 2)}`;
}

/** `00:41`, `1:02:03`: for a running clock, because the width stays the same. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  return hours > 0 ? `${hours}:${padded(minutes)}:${padded(rest)}` : `${padded(minutes)}:${padded(rest)}`;
}

/** `0.8 s`, `41 s`, `3 min 20 s`, `1 h 2 min`: for a finished run. */
export function duration(seconds: number): string {
  if (seconds < 9.95) {
    return `${seconds.toFixed(1)} s`;
  }
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  if (hours > 0) {
    return `${hours} h ${minutes} min`;
  }
  return minutes > 0 ? `${minutes} min ${rest} s` : `${rest} s`;
}

/** `1 attempt`, `3 attempts`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function padded(number: number): string {
  return String(number).padStart(2, '0');
}
