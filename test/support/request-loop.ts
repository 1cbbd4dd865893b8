import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { slowness } from './cost.ts';
import type { DomainSketch } from './domain-sketch.ts';
import { type Installation, install, type Serving, serve } from './signet-program.ts';
import { type Answer, type Caller, form } from './start-server.ts';

/**
 * Upper bound of one hold of the request loop, in milliseconds of its thread's processor time. `npm run bench -- holds` aims at 50 on a quiet machine; a
 * busy one makes single statements of megabytes several times as dear.
 */
export const maxHoldMs = 200;

/** A real server of which it is recorded how long its request loop is held. */
export interface MeasuredServer {
  readonly installation: Installation;
  readonly serving: Serving;
  as(name: string): Promise<Caller>;
  /** Makes the request while `media.player` gets one token after the other; notes the longest hold, also of what follows the answer. Without a `status` it succeeds. */
  measure(what: string, request: () => Promise<Answer>, status?: number): Promise<Answer>;
  /** Prints all figures beside their bound, and holds them to it. */
  assertShort(): void;
}

/** The domains that `measure` needs. */
const tokenDomains: readonly DomainSketch[] = [
  { name: 'catalog', roles: { reader: ['media.player'] } },
  { name: 'media', services: { player: {} } },
];

const quotas = ['roles', 'members', 'groups', 'policies', 'assertions', 'services', 'keys'].map(
  (kind) => `${kind}: 400000`,
);

export async function measuredServer(
  t: ExecutionContext,
  domains: readonly DomainSketch[],
  prepare: (installation: Installation) => void | Promise<void> = () => {},
): Promise<MeasuredServer> {
  const more = `management: { quotas: { ${quotas.join(', ')} } }`;
  const installation = await install(t, { more, domains: [...tokenDomains, ...domains] });
  await prepare(installation);
  const holds = join(installation.folder, 'holds');
  const recorder = join(import.meta.dirname, 'record-holds.mjs');
  const limits = `export SIGNET_TEST_HOLDS='${holds}' NODE_OPTIONS='--import ${recorder}'`;
  const serving = await serve(t, installation, { limits });
  const as = async (name: string) => serving.as(await installation.pki.identity(name));
  const player = await as('media.player');
  const token = () => player('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:role.reader' }));
  for (let index = 0; index < 20; index += 1) await token();

  const found: [what: string, longest: number][] = [];
  const measure = async (what: string, request: () => Promise<Answer>, status?: number): Promise<Answer> => {
    writeFileSync(holds, '');
    let isOver = false;
    const asked = request().finally(() => {
      isOver = true;
    });
    // Told of a failure below, once the tokens have ended.
    asked.catch(() => undefined);
    let tokens = 0;
    while (!isOver) {
      t.is((await token()).status, 200);
      tokens += 1;
    }
    const answer = await asked;
    // What follows the answer, such as the compilation of the domain.
    for (let index = 0; index < 10; index += 1) await token();
    const isRight = status === undefined ? answer.status < 300 : answer.status === status;
    t.true(isRight, `${what}: ${answer.status} ${answer.text.slice(0, 300)}`);
    const held = Math.max(0, ...readFileSync(holds, 'utf8').split('\n').map(Number));
    const longest = held > maxHoldMs ? Math.round(held / slowness()) : held;
    found.push([`${what} (${tokens} tokens meanwhile)`, longest]);
    return answer;
  };
  return {
    installation,
    serving,
    as,
    measure,
    assertShort: () => {
      // All are printed, whichever is too long.
      for (const [what, longest] of found) t.log(`${what}: ${longest} ms (bound ${maxHoldMs})`);
      for (const [what, longest] of found)
        t.true(longest <= maxHoldMs, `${what}: ${longest} ms is more than ${maxHoldMs}`);
    },
  };
}
