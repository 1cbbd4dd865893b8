import { endWithoutReaders, watchOutput } from '@signet/policy-engine/internal/output';
import { removeTlsOverride } from '@signet/policy-engine/internal/tls-environment';
import { exitStatus } from './exit-status.ts';
import { runProgram } from './program.ts';

/** The end of everything when an orderly end takes longer than this, in milliseconds. */
const endGuard = 10_000;

const ending = new AbortController();
const wakeUps = new EventTarget();

watchOutput('signet-updater', exitStatus.storage);
removeTlsOverride(process.env, (line) => void process.stderr.write(`signet-updater: ${line}\n`));

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
if (ending.signal.aborted) endWithoutReaders();
