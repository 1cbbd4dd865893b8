/*
 * Log and standard output of the programs of Signet. Neither may stop the work or the end of a program: a reader that does not read costs
 * lines, which are counted. A blocking write would hold a thread that the end of the process waits for.
 */

/** Bytes of standard output that wait for a reader, in a program that stays; lines beyond it are counted and lost. */
const waitingOutputBytes = 1_000_000;
/** Timeout of a program's end for readers of its output, in milliseconds. */
export const readersMs = 1000;

let lostInAll = 0;

/** Number of lines of logs and standard output that this process could not write. */
export function lostLines(): number {
  return lostInAll;
}

/** Adds a lost line to their number. */
export function countLostLine(): void {
  lostInAll += 1;
}

/**
 * Sets standard output and standard error non-blocking, where they are pipes, sockets or terminals. Processes that inherit one of them share this
 * setting, and Node sets it back when it starts such a process and when it ends: call it after each start and before each write.
 */
export function setOutputNonBlocking(): void {
  for (const stream of [process.stdout, process.stderr]) {
    // Absent for files, which are always written synchronously. Node has no other call for it.
    const { _handle } = stream as { readonly _handle?: { setBlocking?(isBlocking: boolean): unknown } | null };
    _handle?.setBlocking?.(false);
  }
}

/** Number of lines that a stream lost since the last report. */
const lostOf = new WeakMap<NodeJS.WriteStream, number>();

/** Writes lines of a program that stays to a standard stream. They are counted and lost where too much already waits for a reader. */
export function writeLines(text: string, stream: NodeJS.WriteStream = process.stdout): void {
  setOutputNonBlocking();
  if (stream.writableLength + text.length <= waitingOutputBytes) {
    stream.write(text);
    return;
  }
  countLostLine();
  const before = lostOf.get(stream);
  lostOf.set(stream, (before ?? 0) + 1);
  if (before !== undefined) return;
  stream.once('drain', () => {
    process.stderr.write(`warning: ${lostOf.get(stream)} lines of output were lost, they were not read\n`);
    lostOf.delete(stream);
  });
}

/** Reports errors of the standard streams in place of an exception. A reader that stops early, as in `… | head -n 1`, is not an error. */
export function watchOutput(program: string, failedStatus = 1): void {
  let isStdoutLost = false;
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      // Once, also where each write fails.
      if (stream === process.stdout && !isStdoutLost) {
        isStdoutLost = true;
        process.stderr.write(`${program}: standard output cannot be written (${error.code ?? error.message})\n`);
      }
      process.exitCode = failedStatus;
    });
  }
}

/** Ends the process although its output is not read, soon after everything else is done. Call it when the work has ended by order. */
export function endWithoutReaders(): void {
  setTimeout(() => process.exit(), readersMs).unref();
}
