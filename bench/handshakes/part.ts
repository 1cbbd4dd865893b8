import type { PartContext, PartReport } from '../measure/figure.ts';
import { cpuRounds } from '../measure/rounds.ts';
import { countInstructions, type ServersPlan, withServers } from '../measure/servers.ts';
import { createPeers, peerNames } from '../token/contenders.ts';
import { costFigures, costTable, peerTable } from '../token/cost-tables.ts';
import { createSignet, signetName } from '../token/signet.ts';

/** Cost of a token for callers that keep no connection: a full handshake of mutual TLS with each. */
export async function handshakesPart({ folder, quick, counter }: PartContext): Promise<PartReport> {
  const peers = (await createPeers(folder)).filter(({ name }) => name !== peerNames.oidc);
  const plan: ServersPlan = {
    contenders: [...peers, await createSignet(folder)],
    folder,
    target: async (contender, { baseUrl }) => ({ ...contender.token(baseUrl), isNewEach: true }),
  };
  const cpu = await withServers(plan, [], (running) =>
    cpuRounds(running, quick ? { warmUp: 400, rounds: 9, requests: 100 } : { warmUp: 1500, rounds: 21, requests: 300 }),
  );
  const instructions = counter && (await countInstructions(plan, counter, { warmUp: 400, rounds: 5, requests: 100 }));
  const aims = [{ id: 'bare', peer: peerNames.bare }];
  const costs = { cpu, instructions };
  const blocks = [
    '## A token over a connection of its own',
    costTable(aims, signetName, costs),
    peerTable(peerNames.bare, costs),
  ];
  return {
    markdown: blocks.join('\n\n'),
    figures: costFigures('handshakes', 'a token with its handshake', aims, signetName, costs),
  };
}
