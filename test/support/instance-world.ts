import { ecPair, type Pair, type RequestedName, requestPem } from './requests.ts';
import type { Answer, Caller, CallerOptions, CallOptions, Ending, TestServer } from './start-server.ts';
import { caller, startServer, type TestServerOptions } from './start-server.ts';

/** Two tenants and the providers that may, or may not, launch their instances. */
export const instanceDomains = [
  {
    name: 'sys.auth',
    services: { server: {}, operator: {} },
    roles: {
      providers: ['sys.auth.server', 'prov.cloud', 'prov.eager', 'prov.jwt'],
      watchers: ['sys.auth.operator'],
    },
    policies: {
      watching: [['ALLOW', 'watchers', 'view_domain', 'domain.sys.auth']],
      providers: [
        ['ALLOW', 'providers', 'launch', 'instance'],
        ['ALLOW', 'providers', 'launch', 'dns.prov.example.com'],
      ],
    },
  },
  { name: 'prov', services: { cloud: {}, eager: {}, lazy: {}, jwt: {} } },
  {
    name: 'media',
    services: { player: {}, studio: {}, off: false, admin: {} },
    roles: { launchers: ['sys.auth.server', 'prov.cloud', 'prov.lazy', 'prov.jwt'], admins: ['media.admin'] },
    policies: {
      instances: [
        ['ALLOW', 'launchers', 'launch', 'service.player'],
        ['ALLOW', 'admins', 'update', 'service.player'],
        ['ALLOW', 'admins', 'update', 'service.studio'],
        ['ALLOW', 'admins', 'delete', 'instance.*'],
      ],
    },
  },
  {
    name: 'catalog',
    services: { api: {}, admin: {} },
    roles: { reader: ['media.player'], dbreader: ['media.studio'] },
    policies: {},
  },
] as const satisfies TestServerOptions['domains'];

export interface InstanceWorld extends TestServer {
  as(who?: CallerOptions): Caller;
  identity(name: string): Promise<Caller>;
  /** A join token for an instance of `media.player`, or the answer that refused it. */
  token(id: string, service?: string): Promise<string>;
}

/** A server with those domains. */
export async function instanceWorld(t: Ending, options: TestServerOptions = {}): Promise<InstanceWorld> {
  const server = await startServer(t, { domains: instanceDomains, ...options });
  const as = (who: CallerOptions = {}) => caller(t, server, who);
  const identity = async (name: string) => as(await server.pki.identity(name));
  const admin = await identity('media.admin');
  const token = async (id: string, service = 'player') => {
    const { body } = await admin(`/instance/sys.auth.server/media/${service}/${id}/token`);
    return String(field(body, 'attestationData'));
  };
  return { ...server, as, identity, token };
}

/** A member of a JSON object. */
export function field(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null
    ? new Map<string, unknown>(Object.entries(body)).get(name)
    : undefined;
}

export function json(value: unknown, method = 'POST'): CallOptions {
  return { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

/** The names of an instance of `media.player`. */
export function instanceNames(id: string): RequestedName[] {
  return [
    ['uri', 'spiffe://signet.test/ns/default/sa/media.player'],
    ['dns', `${id}.instanceid.signet.test`],
  ];
}

export function instanceRequest(id: string, pair: Pair = ecPair()): string {
  return requestPem(pair, { commonNames: ['media.player'], altNames: instanceNames(id) });
}

export function keyPem(pair: Pair): string {
  return pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** An instance that has registered: its certificate, key and id. */
export interface Registered {
  readonly id: string;
  readonly certificate: string;
  readonly key: string;
  readonly answer: Answer;
}

/** Registers an instance of `media.player` with a join token. */
export async function register(
  world: Pick<InstanceWorld, 'as' | 'token'>,
  id: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Registered> {
  const pair = ecPair();
  const attestationData = await world.token(id);
  const body = {
    provider: 'sys.auth.server',
    domain: 'media',
    service: 'player',
    attestationData,
    csr: instanceRequest(id, pair),
  };
  const answer = await world.as()('/instance', json({ ...body, ...more }));
  return { id, key: keyPem(pair), certificate: String(field(answer.body, 'x509Certificate')), answer };
}

/** Refreshes with this certificate; the new one has a key of its own. */
export async function refresh(world: Pick<InstanceWorld, 'as'>, instance: Registered): Promise<Registered> {
  const pair = ecPair();
  const call = world.as(instance);
  const answer = await call(
    `/instance/sys.auth.server/media/player/${instance.id}`,
    json({ csr: instanceRequest(instance.id, pair) }),
  );
  call.agent.destroy();
  return { id: instance.id, key: keyPem(pair), certificate: String(field(answer.body, 'x509Certificate')), answer };
}
