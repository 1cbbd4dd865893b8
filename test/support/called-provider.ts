import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Clock } from '@signet/policy-engine/clock';
import { domainContent } from './domain-sketch.ts';
import { instanceDomains, instanceNames, instanceWorld } from './instance-world.ts';
import { createPki, type Pki } from './pki.ts';
import { ecPair, requestPem } from './requests.ts';
import { saveDomain } from './save-domain.ts';
import type { Ending } from './start-server.ts';

export interface Call {
  readonly path: string;
  readonly body: unknown;
  readonly caller: string;
}

export type Answering = (call: Call, response: ServerResponse, request: IncomingMessage) => void;

/** A provider on loopback with the certificate of `name`; it ends with the test. */
export async function provider(
  t: Ending,
  pki: Pki,
  name: string,
  answer: Answering,
): Promise<{ readonly url: string; readonly calls: Call[]; readonly presented: string }> {
  const { certificate, key } = await pki.identity(name);
  const calls: Call[] = [];
  const server: Server = createServer(
    { cert: certificate, key, ca: pki.bundle, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const peer = request.socket instanceof TLSSocket ? request.socket.getPeerX509Certificate() : undefined;
        const call = {
          path: request.url ?? '',
          body: JSON.parse(Buffer.concat(chunks).toString()),
          caller: peer?.subject ?? '',
        };
        calls.push(call);
        answer(call, response, request);
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/attest`, calls, presented: certificate };
}

/** Says yes, with these attributes. */
export const confirm =
  (attributes: Readonly<Record<string, string>> = {}): Answering =>
  ({ body }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...Object(body), attributes }));
  };

/** The usual world, with `prov.cloud` as a provider that is called. */
export async function worldWith(
  t: Ending,
  answer: Answering,
  options: Readonly<Record<string, unknown>> = {},
  as = 'prov.cloud',
  clock?: Clock,
) {
  const pki = await createPki();
  const { url, calls, presented } = await provider(t, pki, as, answer);
  const callOut = { 'instances.callOut.allow': ['127.0.0.1'], ...options };
  const world = await instanceWorld(t, {
    pki,
    options: callOut,
    changes: 'polled',
    ...(clock !== undefined && { clock }),
  });
  await setEndpoint(world, url);
  return { ...world, url, calls, presented };
}

export async function setEndpoint(world: Awaited<ReturnType<typeof instanceWorld>>, url: string): Promise<void> {
  const content = domainContent(instanceDomains[1]);
  const services = content.services.map((service) =>
    service.name === 'cloud' ? { ...service, endpoint: url } : service,
  );
  await world.store.change({ actor: 'test' }, (transaction) => saveDomain(transaction, { ...content, services }));
  await world.running.refresh();
}

/** A registration with `prov.cloud` as the provider. */
export function registration(id: string, pair = ecPair()): Record<string, unknown> {
  const csr = requestPem(pair, {
    commonNames: ['media.player'],
    altNames: [...instanceNames(id), ['dns', 'player.media.prov.example.com']],
  });
  return { provider: 'prov.cloud', domain: 'media', service: 'player', attestationData: 'signed by the cloud', csr };
}
