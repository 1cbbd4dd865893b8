import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuRounds } from '../measure/rounds.ts';
import { withServers } from '../measure/servers.ts';
import { createSignet } from '../token/signet.ts';
import { benchRequest } from './request.ts';

export const overHttps = 'a service certificate over kept-alive mutual TLS, store included, 8 at once';

/** Microseconds of processor time of the real server for each service certificate, round by round. */
export async function costsOverHttps(folder: string, quick: boolean): Promise<readonly number[]> {
  const own = join(folder, 'over-https');
  mkdirSync(own);
  const signet = await createSignet(own);
  const plan = {
    contenders: [signet],
    folder: own,
    target: async (_: unknown, { baseUrl }: { readonly baseUrl: string }) => {
      const target = signet.token(baseUrl);
      const body = JSON.stringify({ csr: requestOf(target.keyFile) });
      const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
      return { ...target, url: `${baseUrl}/instance/media/studio/refresh`, headers, body };
    },
  };
  const rounds = quick ? { warmUp: 16_000, rounds: 5, requests: 500 } : { warmUp: 16_000, rounds: 9, requests: 2000 };
  return withServers(plan, [], async (running) => (await cpuRounds(running, rounds)).get(signet.name) ?? []);
}

/** The request of media.studio with the key of the certificate that it presents: this key speaks for it. */
function requestOf(keyFile: string): string {
  const privateKey = createPrivateKey(readFileSync(keyFile));
  const keys = { privateKey, publicKey: createPublicKey(privateKey) };
  return benchRequest('media.studio', undefined, 'spiffe://signet.local/ns/default/sa/media.studio', keys);
}
