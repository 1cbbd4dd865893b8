import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import { formatSpread, verdict } from '../measure/report.ts';
import { cpuRounds } from '../measure/rounds.ts';
import { countInstructions, type ServersPlan, withServers } from '../measure/servers.ts';
import { ratioToMedian } from '../measure/statistics.ts';
import { createPeers, peerNames } from './contenders.ts';
import { costFigures, costTable, peerTable } from './cost-tables.ts';
import { manyRolesPart } from './many-roles.ts';
import { signatureInstructions } from './signature.ts';
import { createSignet, signetName } from './signet.ts';

const aims = [
  { id: 'koa', peer: peerNames.koa, aim: 1 },
  { id: 'lean-koa', peer: peerNames.lean },
  { id: 'bare', peer: peerNames.bare, aim: 1.75 },
  { id: 'oidc-provider', peer: peerNames.oidc, aim: 0.42 },
];

/** Cost of a token, against three peers. */
export async function tokenPart({ folder, quick, counter }: PartContext): Promise<PartReport> {
  const contenders = [...(await createPeers(folder)), await createSignet(folder)];
  const plan: ServersPlan = { contenders, folder, target: async (contender, { baseUrl }) => contender.token(baseUrl) };
  const sizes: string[] = [];
  const cpu = await withServers(plan, [], async (running) => {
    for (const { load, program } of running) {
      const { body } = await load.send(1);
      sizes.push(`${program.name} ${body.length} B`);
    }
    return cpuRounds(
      running,
      quick ? { warmUp: 16_000, rounds: 5, requests: 500 } : { warmUp: 16_000, rounds: 21, requests: 1500 },
    );
  });
  const instructions =
    counter && (await countInstructions(plan, counter, { warmUp: 12_000, rounds: 5, requests: 500 }));
  const inSignatures =
    counter &&
    instructions &&
    signaturesFigure(instructions.get(signetName) ?? [], await signatureInstructions(counter));
  const manyRoles = await manyRolesPart({ folder, quick, counter });
  const blocks = [
    '## A token over kept-alive mutual TLS',
    `Sizes of the answers: ${sizes.join(', ')}.`,
    costTable(aims, signetName, { cpu, instructions }),
    peerTable(peerNames.bare, { cpu, instructions }),
    ...(inSignatures === undefined ? [] : [inSignatures.markdown]),
    manyRoles.markdown,
  ];
  const figures = costFigures('token', 'a token', aims, signetName, { cpu, instructions });
  return {
    markdown: blocks.join('\n\n'),
    figures: [...figures, ...(inSignatures?.figures ?? []), ...manyRoles.figures],
  };
}

/** A token in units of the signature that it cannot do without. */
function signaturesFigure(tokens: readonly number[], signatures: readonly number[]): PartReport {
  const value = ratioToMedian(tokens, signatures);
  const limit = 1.7;
  const figure: Figure = {
    id: 'token/signatures/instructions',
    title: 'a token ÷ one P-256 signature, instructions',
    unit: '',
    value,
    aim: { kind: 'at most', value: limit },
  };
  const text = `A token in units of one P-256 signature, instructions: ${formatSpread(value)}; ${verdict(value.median, limit, 'at most')}.`;
  return { markdown: text, figures: [figure] };
}
