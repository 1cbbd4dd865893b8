import test, { type ExecutionContext } from 'ava';
import { assertWithin } from '#support/cost';
import { install, serve } from '#support/signet-program';
import type { Answer, Caller } from '#support/start-server';
import { until } from '#support/until';

/*
 * The administrators of one domain ask for dry runs and changes without end, each as soon as it is answered; what one of another domain
 * asks for has its turn after at most three of theirs. Counted, and not timed: the order is the same however busy the machine is.
 */

const bosses = 12;
const rounds = 5;
const names = Array.from({ length: bosses }, (_, index) => `boss${index}`);
const domains = [
  {
    name: 'evil',
    roles: {
      admin: names.map((name) => `evil.${name}`),
      crowd: Array.from({ length: 1000 }, (_, index) => `user.member${index}`),
    },
    services: Object.fromEntries(names.map((name) => [name, {}])),
  },
  { name: 'good', roles: { admin: ['good.owner'], reader: [] }, services: { owner: {} } },
] as const;

function put(body: unknown) {
  return { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** The same number of rules each time, and others. */
function rules(index: number) {
  return Array.from({ length: 300 }, (_, rule) => ({
    action: 'read',
    resource: `item${index}r${rule}`,
    role: 'crowd',
  }));
}

interface Flood {
  /** Statuses of the answers so far. */
  readonly answers: number[];
  end(): Promise<void>;
}

function flood(callers: readonly Caller[], path: (index: number) => string): Flood {
  const answers: number[] = [];
  let ended = false;
  const loops = callers.map(async (call, index) => {
    for (let round = 0; !ended; round += 1) {
      const { status } = await call(path(index), put(rules(round * bosses + index)));
      answers.push(status);
    }
  });
  return {
    answers,
    end: async () => {
      ended = true;
      await Promise.all(loops);
    },
  };
}

const done = (flooding: Flood) => flooding.answers.filter((status) => status < 300).length;

/** How many of the flood were done while the owner waited, in each round. */
async function waits(t: ExecutionContext, flooding: Flood, ask: (round: number) => Promise<Answer>): Promise<number[]> {
  const counts: number[] = [];
  await until('the flood runs', () => done(flooding) >= 2, 60_000);
  for (let round = 0; round < rounds; round += 1) {
    const before = done(flooding);
    const { status, text } = await ask(round);
    t.true(status < 300, text);
    counts.push(done(flooding) - before);
    await until('the flood goes on', () => done(flooding) > before + (counts.at(-1) ?? 0), 60_000);
  }
  await flooding.end();
  return counts.sort((a, b) => a - b);
}

async function begin(t: ExecutionContext) {
  t.timeout(300_000);
  const installation = await install(t, { domains, more: 'log: { requests: false }' });
  const serving = await serve(t, installation);
  const as = async (name: string) => serving.as(await installation.pki.identity(name));
  return { owner: await as('good.owner'), callers: await Promise.all(names.map((name) => as(`evil.${name}`))) };
}

for (const [what, query, count, bound] of [
  ['changes', '', bosses, 3],
  // One runs and four wait: those of more principals would be refused.
  ['dry runs', '?dryRun=true', 5, 3],
] as const) {
  test(`${what} of a domain that asks without end do not keep another one's from being answered`, async (t) => {
    const { owner, callers } = await begin(t);
    const flooding = flood(
      callers.slice(0, count),
      (index) => `^/management/v1/domains/evil/policies/p${index}${query}`,
    );
    const path = `^/management/v1/domains/good/roles/reader${query}`;
    const counts = await waits(t, flooding, (round) => owner(path, put({ members: [`user.member${round}`] })));
    t.log(`${done(flooding)} ${what} of the flood done; while one of the other domain waited: ${counts.join(', ')}`);
    const median = counts[Math.floor(rounds / 2)] ?? count;
    assertWithin(t, `${what} of ${count} principals before one of another domain, median`, median, bound);
  });
}
