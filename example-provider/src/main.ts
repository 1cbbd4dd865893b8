import { createClient } from '@signet/client';
import { PolicyEngine } from '@signet/policy-engine';
import { systemClock } from '@signet/policy-engine/clock';
import { gracefulServer } from '@signet/policy-engine/http';
import { createProgramLog } from '@signet/policy-engine/internal/log';
import { endWithoutReaders, watchOutput } from '@signet/policy-engine/internal/output';
import { removeTlsOverride } from '@signet/policy-engine/internal/tls-environment';
import { Command, CommanderError } from 'commander';
import { pino } from 'pino';
import { createProvider } from './provider.ts';
import { loadProviderConfig, type ProviderConfig } from './provider-config.ts';
import type { AskServer } from './require-access/ask-server.ts';
import { listen } from './tls-server.ts';

/** Deadline of requests in flight after the order to stop. */
const deadlineMs = 8000;

interface Options {
  readonly config: string;
  readonly json?: boolean;
}

/** Runs until SIGINT or SIGTERM; everything that it opens is closed again. */
async function serve(options: Options): Promise<void> {
  const config = loadProviderConfig(options.config);
  const logger = createProgramLog(
    { create: pino<never, boolean>, destination: pino.destination },
    { level: config.log.level },
  );
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => resolve());
  });
  await using engine = await PolicyEngine.open({ policyDir: config.policyDir, domains: [config.domain] });
  await using client = createClient({ ...config.tls, ...config.server });
  const ask: AskServer = async (question) => ({ granted: await client.access.check(question) });
  let isStopping = false;
  const server = createProvider({ config, engine, ask, clock: systemClock, logger, isStopping: () => isStopping });
  const graceful = gracefulServer(server);
  announce(await listen(server, config.listen), config, options);
  await stopped;
  // A second order ends the process at once.
  for (const signal of ['SIGINT', 'SIGTERM']) setTimeout(() => process.removeAllListeners(signal), 500).unref();
  isStopping = true;
  await graceful.close({ delayMs: config.shutdown.delaySeconds * 1000, deadlineMs });
  endWithoutReaders();
}

function announce(url: string, config: ProviderConfig, options: Options): void {
  const line =
    options.json === true ? JSON.stringify({ url, pid: process.pid }) : `protecting ${config.domain} at ${url}`;
  process.stdout.write(`${line}\n`);
}

watchOutput('signet-example-provider');
removeTlsOverride(process.env, (line) => void process.stderr.write(`signet-example-provider: ${line}\n`));

const program = new Command('signet-example-provider')
  .description('a service that protects its endpoints in each of the consumer patterns of Signet')
  .requiredOption('--config <file>', 'provider.yaml')
  .option('--json', 'print one line of JSON when ready')
  .exitOverride()
  .action(serve);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    process.stderr.write(`signet-example-provider: ${error instanceof Error ? error.message : 'unknown failure'}\n`);
    process.exitCode = 1;
  }
}
