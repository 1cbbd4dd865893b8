import { removeTlsOverride } from '@signet/policy-engine/internal/tls-environment';
import { exitStatus } from './exit-status.ts';
import { runProgram } from './program.ts';

/** The end of everything when an orderly end takes longer than this, in milliseconds. */
const endGuard = 10_000;

const ending = new AbortController();
const wakeUps = new EventTarget();

removeTlsOverride(process.env, (line) => void process.stderr.write(`signet-updater: ${line}\n`));

// A reader that stops early, as in `signet-updater status | head -n 1`, is not a failure of ours.
let isStdoutLost = false;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    // Once, also where each write fails.
    if (stream === process.stdout && !isStdoutLost) {
      isStdoutLost = true;
      process.stderr.write(`signet-updater: standard output cannot be written (${error.code ?? error.message})\n`);
    }
    process.exitCode = exitStatus.storage;
  });
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    ending.abort();
    setTimeout(() => process.exit(1), endGuard).unref();
  });
}
// installed at once: without a listener SIGHUP would end the program and SIGUSR1 open its debugger
process.on('SIGHUP', () => wakeUps.dispatchEvent(new Event('reload')));
process.on('SIGUSR1', () => wakeUps.dispatchEvent(new Event('wake')));

process.exitCode = await runProgram(process.argv.slice(2), {
  print: (line) => void process.stdout.write(`${line}\n`),
  complain: (line) => void process.stderr.write(`signet-updater: ${line}\n`),
  signal: ending.signal,
  onWakeUp: (listener) => wakeUps.addEventListener('wake', listener),
  onReload: (listener) => wakeUps.addEventListener('reload', listener),
});
