/** Many updaters in one process: each has one kept connection with client certificates of its own and asks over it. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Target } from '../token/load.ts';

export interface Order {
  readonly kind: 'open' | 'ask';
  readonly target: Target;
  readonly count: number;
}

/** Handshakes under way at once: hosts come one by one. */
const width = 20;

const agents: Agent[] = [];

process.on('message', (order: Order) => {
  run(order).then(
    () => process.send?.({ kind: 'done' }),
    (error: unknown) => process.send?.({ kind: 'failed', reason: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));

async function run({ kind, target, count }: Order): Promise<void> {
  if (kind === 'open') {
    const secureContext = createSecureContext({
      cert: readFileSync(target.certificateFile),
      key: readFileSync(target.keyFile),
      ca: readFileSync(target.caFile),
    });
    for (let made = 0; made < count; made += 1) agents.push(agentOf(secureContext));
  }
  const waiting = agents.values();
  const askInTurn = async (): Promise<void> => {
    for (const agent of waiting) await ask(agent, target);
  };
  await Promise.all(Array.from({ length: width }, askInTurn));
}

function agentOf(secureContext: SecureContext): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1, secureContext });
}

function ask(agent: Agent, { url, method, headers, expect }: Target): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method, headers }, (response) => {
      response.resume();
      response.once('error', reject);
      response.once('end', () =>
        response.statusCode === expect ? resolve() : reject(new Error(`status ${response.statusCode}`)),
      );
    });
    sent.once('error', reject);
    sent.end();
  });
}
