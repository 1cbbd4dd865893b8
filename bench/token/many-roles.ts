import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import type { InstructionCounter } from '../measure/instructions.ts';
import { formatSpread } from '../measure/report.ts';
import { cpuRounds, instructionRounds, type Running } from '../measure/rounds.ts';
import { withServers } from '../measure/servers.ts';
import { ratioOf, ratioToMedian, type Spread } from '../measure/statistics.ts';
import { type Contender, formTarget } from './contenders.ts';
import { startLoad } from './load-generator.ts';
import { createSignet } from './signet.ts';

const roleForm = (role: string): string => `grant_type=client_credentials&scope=${encodeURIComponent(role)}`;

const [one, thousand] = ['of one', 'of 1,000'];

/** Two domains: in one the caller holds a single role, in the other a thousand. */
function writeDomains(folder: string): string {
  const documents = join(folder, 'domains');
  mkdirSync(documents);
  const write = (domain: string, roles: number): void => {
    const lines = Array.from({ length: roles }, (_, index) => `  r${index + 100}: { members: [media.studio] }\n`);
    writeFileSync(join(documents, `${domain}.yaml`), `domain: ${domain}\nroles:\n${lines.join('')}`);
  };
  write('single', 1);
  write('crowded', 1000);
  return documents;
}

type Use<T> = (running: readonly [one: Running, thousand: Running]) => Promise<T>;

/** A server, once asked by the one and once by the other caller. */
async function withBoth<T>(folder: string, wrapper: readonly string[], use: Use<T>): Promise<T> {
  mkdirSync(folder);
  const signet = await createSignet(folder, '', one, writeDomains(folder));
  const target = async (contender: Contender, { baseUrl }: { readonly baseUrl: string }) =>
    formTarget(contender.token(baseUrl), `${baseUrl}/oauth2/token`, roleForm('single:role.r100'));
  return withServers({ contenders: [signet], folder, target }, wrapper, async ([server]) => {
    if (server === undefined) throw new Error('no server was started');
    const { program } = server;
    const token = signet.token(program.baseUrl);
    const many = await startLoad(formTarget(token, token.url, roleForm('crowded:role.r600')));
    try {
      return await use([server, { program: { ...program, name: thousand }, load: many }]);
    } finally {
      many.close();
    }
  });
}

/** A token for one role, of a caller who holds a thousand in the domain, against one of a caller who holds it alone. */
export async function manyRolesPart({ folder, quick, counter }: PartContext): Promise<PartReport> {
  const rounds = await withBoth(join(folder, 'many-roles'), [], (running) =>
    cpuRounds(
      running,
      quick ? { warmUp: 1500, rounds: 7, requests: 500 } : { warmUp: 6000, rounds: 21, requests: 1500 },
    ),
  );
  const value = ratioOf(rounds.get(thousand) ?? [], rounds.get(one) ?? []);
  const counted = counter && (await countBoth(join(folder, 'many-roles-counted'), counter));
  const title = 'a token for one role of 1,000 held ÷ one for the only role held';
  const figures: readonly Figure[] = [
    {
      id: 'token/one-role-of-1000/cpu',
      title: `${title}, processor time`,
      unit: '',
      value,
      aim: { kind: 'at most', value: 1.1 },
    },
    ...(counted === undefined
      ? []
      : [{ id: 'token/one-role-of-1000/instructions', title: `${title}, instructions`, unit: '', value: counted }]),
  ];
  const instructions = counted === undefined ? 'not counted' : formatSpread(counted);
  return {
    markdown: `A token for one role of a caller who holds 1,000 in the domain, in units of one who holds it alone, processor time: ${formatSpread(value)}; instructions: ${instructions}.`,
    figures,
  };
}

function countBoth(folder: string, counter: InstructionCounter): Promise<Spread> {
  return withBoth(folder, counter.wrapper, async ([single, crowded]) => {
    const plan = { warmUp: 6000, rounds: 5, requests: 500 };
    const ofOne = await instructionRounds(single, counter, plan);
    return ratioToMedian(await instructionRounds(crowded, counter, plan), ofOne);
  });
}
