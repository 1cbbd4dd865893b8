/** A process that refreshes the certificates of instances, each over a connection of its own, as machines do. */
import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, type AgentOptions, request } from 'node:https';
import { benchRequest } from '../certificates/request.ts';

/** Operator that registers the instances, with a join token for each. */
export interface Operator {
  readonly baseUrl: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

export type Order =
  | { readonly kind: 'register'; readonly operator: Operator; readonly count: number }
  | { readonly kind: 'refresh'; readonly count: number };
export type Reply = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly reason: string };

interface Instance {
  readonly id: string;
  readonly pair: KeyPairKeyObjectResult;
  readonly csr: string;
  certificate: string;
}

const key = 'sys.auth.server/media/player';
let server: { readonly baseUrl: string; readonly ca: string } | undefined;
let instances: readonly Instance[] = [];

async function follow(order: Order): Promise<void> {
  if (order.kind === 'register') {
    const { baseUrl, caFile, certificateFile, keyFile } = order.operator;
    server = { baseUrl, ca: readFileSync(caFile, 'utf8') };
    const operator = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
    instances = await Promise.all(Array.from({ length: order.count }, (_, index) => register(`i-${index}`, operator)));
    return;
  }
  let left = order.count;
  const worker = async (instance: Instance): Promise<void> => {
    while (left-- > 0) await refresh(instance);
  };
  await Promise.all(instances.map(worker));
}

async function register(id: string, operator: AgentOptions): Promise<Instance> {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const uri = 'spiffe://signet.local/ns/default/sa/media.player';
  const csr = benchRequest('media.player', `${id}.instanceid.signet.local`, uri, pair);
  const token = await call(operator, 'GET', `/instance/${key}/${id}/token`);
  const [provider, domain, service] = key.split('/');
  const body = { provider, domain, service, attestationData: field(token, 'attestationData'), csr };
  return { id, pair, csr, certificate: field(await call({}, 'POST', '/instance', body), 'x509Certificate') };
}

async function refresh(instance: Instance): Promise<void> {
  const { id, pair, csr, certificate } = instance;
  const identity = { cert: certificate, key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) };
  instance.certificate = field(await call(identity, 'POST', `/instance/${key}/${id}`, { csr }), 'x509Certificate');
}

function field(text: string, name: string): string {
  const value: unknown = JSON.parse(text);
  const found = typeof value === 'object' && value !== null ? new Map(Object.entries(value)).get(name) : undefined;
  if (typeof found !== 'string') throw new Error(`no ${name}: ${text}`);
  return found;
}

function call(identity: AgentOptions, method: string, path: string, body?: object): Promise<string> {
  if (server === undefined) throw new Error('nobody is registered');
  const { baseUrl, ca } = server;
  // A new certificate is a new connection.
  const agent = new Agent({ ...identity, ca, keepAlive: false });
  const headers = { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(`${baseUrl}${path}`, { agent, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => {
        const status = response.statusCode ?? 0;
        if (status >= 200 && status < 300) resolve(text);
        else reject(new Error(`status ${status}: ${text}`));
      });
    });
    sent.once('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

process.on('message', (order: Order) => {
  follow(order).then(
    () => process.send?.({ kind: 'done' } satisfies Reply),
    (error: unknown) => process.send?.({ kind: 'failed', reason: String(error) } satisfies Reply),
  );
});
process.once('disconnect', () => process.exit());
