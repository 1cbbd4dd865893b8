import { escapeControls } from '../base/terminal-text.ts';
import type { OnProgress } from '../steps/progress.ts';

interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

interface ProgressOptions {
  readonly stream: ProgressStream;
  /** Milliseconds from any beginning. */
  readonly now: () => number;
}

/** Delay before progress is shown. */
const quietMs = 500;
const betweenMs = 100;
const barCells = 20;
const eraseLine = '\r\u001b[K';

/**
 * Runs long work with one line on standard error that says how far it is, and that is gone in the end; with none where that is no terminal.
 * Throws what `work` throws.
 */
export async function withProgress<Result>(
  work: (onProgress: OnProgress) => Promise<Result>,
  { stream, now }: ProgressOptions = { stream: process.stderr, now: () => performance.now() },
): Promise<Result> {
  if (stream.isTTY !== true) return await work(() => undefined);
  let due = now() + quietMs;
  let isShown = false;
  try {
    return await work((what, done, total) => {
      if (now() < due) return;
      due = now() + betweenMs;
      isShown = true;
      stream.write(`${eraseLine}${lineOf(what, done, total).slice(0, (stream.columns ?? 80) - 1)}`);
    });
  } finally {
    if (isShown) stream.write(eraseLine);
  }
}

function lineOf(what: string, done: number, total: number | undefined): string {
  const text = escapeControls(what);
  if (total === undefined || total === 0) return `${text}: ${done}`;
  const share = Math.min(1, done / total);
  const bar = '#'.repeat(Math.floor(share * barCells)).padEnd(barCells);
  return `[${bar}] ${String(Math.floor(share * 100)).padStart(3)} % ${text}: ${done} of ${total}`;
}
