/** `engine.decide` with tokens of one holder, each kind of call beside what it may cost at most. */
import type { PolicyEngine } from '@signet/policy-engine';
import { answerOrders } from '../measure/answer-order.ts';
import { ownInstructions } from '../measure/instructions.ts';
import { type DecideByHand, prepareByHand } from './token-by-hand.ts';
import { createTokenFixture, type SignedToken, type TokenFixture } from './token-fixture.ts';
import { domain } from './workload.ts';

export interface TokenOrder {
  readonly rounds: number;
  readonly cpuMs: number;
  /** Where instructions are counted instead, of the calls that have an aim: the folder of the counter. */
  readonly countIn?: string;
}

/** Microseconds of processor time a call, or instructions, round by round. */
export type TokenCosts = Readonly<Record<TokenCall, readonly number[]>>;

const tokenCalls = ['cached', 'fresh header', 'by hand', 'roles', 'uncached', 'verify', 'verify at best'] as const;
type TokenCall = (typeof tokenCalls)[number];
const countedCalls: readonly TokenCall[] = ['fresh header', 'by hand', 'uncached', 'verify'];
const slowCalls: ReadonlySet<TokenCall> = new Set(['uncached', 'verify', 'verify at best']);

/** Milliseconds of processor time after which a call runs as it does in a service that has run for a while. */
const warmUpMs = 600;

/** Runs `count` calls, one after the other. */
type Run = (count: number) => Promise<void> | void;

/** More than the engine of the uncached calls keeps, so that each token was forgotten when it comes again. */
const tokenCount = 512;
const keptTokens = 64;

function runsOf(fixture: TokenFixture, byHand: DecideByHand): Record<TokenCall, Run> {
  const { certificate, roles, question } = fixture;
  const { action, entity, allowed } = question;
  const keeping = fixture.engine(10_000);
  const forgetting = fixture.engine(keptTokens);
  const header = (at: number): string => tokenAt(fixture, at).header.toString('latin1');
  const decide = async (engine: PolicyEngine, token: string): Promise<void> => {
    const { status } = await engine.decide({ token, action, resource: `${domain}:${entity}`, certificate });
    check((status === 'ALLOW') === allowed);
  };
  let next = 0;
  return {
    cached: async (count) => {
      for (let i = 0; i < count; i++) await decide(keeping, tokenAt(fixture, 0).text);
    },
    'fresh header': async (count) => {
      for (let i = 0; i < count; i++) await decide(keeping, header(i));
    },
    'by hand': (count) => {
      for (let i = 0; i < count; i++) check(byHand(header(i), certificate, action, `${domain}:${entity}`) === allowed);
    },
    roles: (count) => {
      for (let i = 0; i < count; i++) {
        const { status } = keeping.decideRoles({ domain, roles, action, resource: `${domain}:${entity}` });
        check((status === 'ALLOW') === allowed);
      }
    },
    uncached: async (count) => {
      for (let i = 0; i < count; i++) await decide(forgetting, header(next++));
    },
    verify: (count) => {
      for (let i = 0; i < count; i++) check(tokenAt(fixture, next++).verifyBare());
    },
    'verify at best': (count) => {
      for (let i = 0; i < count; i++) check(tokenAt(fixture, next++).verifyAtBest());
    },
  };
}

function tokenAt({ tokens }: TokenFixture, at: number): SignedToken {
  const token = tokens[at % tokens.length];
  if (token === undefined) throw new Error('no token');
  return token;
}

function check(isRight: boolean): void {
  if (!isRight) throw new Error('wrong answer');
}

/** Microseconds of processor time of all threads for a call, measured for `cpuMs` at least. */
async function costOf(run: Run, step: number, cpuMs: number): Promise<number> {
  const start = process.cpuUsage();
  for (let done = step; ; done += step) {
    await run(step);
    const { user, system } = process.cpuUsage(start);
    if (user + system >= cpuMs * 1000) return (user + system) / done;
  }
}

/** Instructions of a call, round by round, after as many as it takes until it is compiled. */
async function countsOf(run: Run, calls: number, countIn: string): Promise<number[]> {
  await run(2 * calls);
  const counts: number[] = [];
  for (let round = 0; round < 3; round++) counts.push((await ownInstructions(countIn, () => run(calls))) / calls);
  return counts;
}

async function measure({ rounds, cpuMs, countIn }: TokenOrder): Promise<TokenCosts> {
  const fixture = createTokenFixture(tokenCount);
  const runs = runsOf(fixture, await prepareByHand(fixture));
  const stepOf = (call: TokenCall): number => (slowCalls.has(call) ? 64 : 2048);
  const costs = Object.fromEntries(tokenCalls.map((call) => [call, [] as number[]])) as Record<TokenCall, number[]>;
  if (countIn !== undefined) {
    for (const call of countedCalls) costs[call].push(...(await countsOf(runs[call], 16 * stepOf(call), countIn)));
    return costs;
  }
  for (const call of tokenCalls) await costOf(runs[call], stepOf(call), warmUpMs);
  for (let round = 0; round < rounds; round++) {
    for (const call of tokenCalls) costs[call].push(await costOf(runs[call], stepOf(call), cpuMs));
  }
  return costs;
}

answerOrders(measure);
