import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PartContext, PartReport } from '../measure/figure.ts';
import { formatSpread } from '../measure/report.ts';
import { cpuRounds, type Running } from '../measure/rounds.ts';
import { withServers } from '../measure/servers.ts';
import { ratioOf } from '../measure/statistics.ts';
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

/** A token for one role, of a caller who holds a thousand in the domain, against one of a caller who holds it alone. */
export async function manyRolesPart({ folder, quick }: PartContext): Promise<PartReport> {
  const own = join(folder, 'many-roles');
  mkdirSync(own);
  const signet = await createSignet(own, '', one, writeDomains(own));
  const target = async (contender: Contender, { baseUrl }: { readonly baseUrl: string }) =>
    formTarget(contender.token(baseUrl), `${baseUrl}/oauth2/token`, roleForm('single:role.r100'));
  const rounds = await withServers({ contenders: [signet], folder: own, target }, [], async ([server]) => {
    if (server === undefined) throw new Error('no server was started');
    const { program } = server;
    const token = signet.token(program.baseUrl);
    const many = await startLoad(formTarget(token, token.url, roleForm('crowded:role.r600')));
    try {
      const running: Running[] = [server, { program: { ...program, name: thousand }, load: many }];
      return await cpuRounds(
        running,
        quick ? { warmUp: 1500, rounds: 7, requests: 500 } : { warmUp: 6000, rounds: 21, requests: 1500 },
      );
    } finally {
      many.close();
    }
  });
  const value = ratioOf(rounds.get(thousand) ?? [], rounds.get(one) ?? []);
  return {
    markdown: `A token for one role of a caller who holds 1,000 in the domain, in units of one who holds it alone, processor time: ${formatSpread(value)}.`,
    figures: [
      {
        id: 'token/one-role-of-1000/cpu',
        title: 'a token for one role of 1,000 held ÷ one for the only role held, processor time',
        unit: '',
        value,
        aim: { kind: 'at most', value: 1.1 },
      },
    ],
  };
}
