/** A chart and how to show it; sent to the frame. */
export interface IDrawing {
  spec: object;
  dark: boolean;
}

/** What the frame answers: the height of its content, or why it did not draw. */
export interface IAnswer {
  height?: number;
  problem?: string;
}

const MAX_HEIGHT = 10_000;
const MAX_PROBLEM = 500;

/** Read an answer of a frame, whose content may be hostile; `null` if it is none. */
export function readAnswer(message: unknown): IAnswer | null {
  if (typeof message !== 'object' || message === null) {
    return null;
  }
  const { height, problem } = message as Record<string, unknown>;
  if (typeof problem === 'string') {
    return { problem: problem.slice(0, MAX_PROBLEM) };
  }
  if (typeof height === 'number' && height >= 0 && height < Infinity) {
    return { height: Math.min(Math.ceil(height), MAX_HEIGHT) };
  }
  return null;
}
