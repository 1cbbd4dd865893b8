import type { PartContext, PartReport } from '../measure/figure.ts';
import { cpuRounds } from '../measure/rounds.ts';
import { countInstructions, type FindTarget, type ServersPlan, withServers } from '../measure/servers.ts';
import { createPeers, peerNames } from '../token/contenders.ts';
import { costFigures, costTable } from '../token/cost-tables.ts';
import { startLoad } from '../token/load-generator.ts';
import { createSignet, signetName } from '../token/signet.ts';

/**
 * Cost of an unchanged bundle: 304 to an updater's entity tag, against Koa that checks the same certificate and answers
 * 304.
 */
export async function unchangedPart({ folder, quick, counter }: PartContext): Promise<PartReport> {
  const peers = (await createPeers(folder)).filter(({ name }) => name === peerNames.koa);
  const plan: ServersPlan = { contenders: [...peers, await createSignet(folder)], folder, target: askWithTag };
  const cpu = await withServers(plan, [], (running) =>
    cpuRounds(
      running,
      quick ? { warmUp: 2000, rounds: 5, requests: 1000 } : { warmUp: 16_000, rounds: 21, requests: 3000 },
    ),
  );
  const instructions =
    counter && (await countInstructions(plan, counter, { warmUp: 12_000, rounds: 5, requests: 500 }));
  const aims = [{ id: 'koa', peer: peerNames.koa, aim: 1.1 }];
  const costs = { cpu, instructions };
  return {
    markdown: `## 304 to a conditional request for a bundle\n\n${costTable(aims, signetName, costs)}`,
    figures: costFigures('unchanged', '304 for a bundle', aims, signetName, costs),
  };
}

/** Requests the tag once, then conditionally. */
const askWithTag: FindTarget = async (contender, { baseUrl }) => {
  if (contender.bundle === undefined || contender.unchanged === undefined) throw new Error('serves no bundle');
  const load = await startLoad(contender.bundle(baseUrl));
  try {
    const { etag } = await load.send(1);
    if (etag === undefined) throw new Error(`${contender.name} sent no entity tag`);
    return contender.unchanged(baseUrl, etag);
  } finally {
    load.close();
  }
};
