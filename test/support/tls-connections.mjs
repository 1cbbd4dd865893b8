/* Each outgoing TLS connection of the programs, to ports of this machine; prints for each what happened, as JSON. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, { ...context, conditions: [...context.conditions, '@signet/source'] }),
});

const [folder, ...ports] = process.argv.slice(2);
const at = (name) => `${folder}/${name}`;
const root = new URL('../../', import.meta.url);
const load = (file) => import(new URL(file, root).href);
const caBundle = readFileSync(at('ca.pem'), 'utf8');
const own = { certificate: at('own.pem'), key: at('own.key') };
const texts = { ca: caBundle, cert: readFileSync(own.certificate, 'utf8'), key: readFileSync(own.key, 'utf8') };
const signal = AbortSignal.timeout(20_000);

const [{ createClient }, { fetchWithTls }, { boundedFetch }, { probeTls }] = await Promise.all([
  load('client/src/index.ts'),
  load('policy-engine/src/loader/tls-fetch.ts'),
  load('server/src/base/bounded-fetch.ts'),
  load('server/src/cli/doctor/probe-tls.ts'),
]);
const { checkServerIs } = await load('policy-engine/src/server-identity.ts');
const { manage } = await load('server/src/cli/manage/management-client.ts');
const { createSts } = await load('server/src/cloud/sts.ts');
const { openStore } = await load('server/src/store/open.ts');
const { getJson } = await load('client/src/identity/post-json.ts');
const { createCallOut } = await load('server/src/instances/attestation/call-out.ts');
const { parseAddressPolicy } = await load('server/src/instances/attestation/addresses.ts');
const { systemClock } = await load('policy-engine/src/clock.ts');

const session = {
  roleArn: 'arn:aws:iam::123456789012:role/reader',
  sessionName: 'an-example',
  sourceIdentity: 'a',
  tags: [],
};
const callOut = createCallOut({
  addresses: parseAddressPolicy(['127.0.0.0/8', '::1/128']),
  identity: async () => ({ certificate: texts.cert, key: texts.key, roots: caBundle }),
  clock: systemClock,
  timeoutMs: 9000,
  isOwnName: () => false,
  isRevoked: () => false,
  isShared: () => false,
});
const attested = {
  operation: 'register',
  domain: 'media',
  service: 'player',
  instanceId: 'i-1',
  clientAddress: '192.0.2.1',
};
process.env.AWS_ACCESS_KEY_ID = 'AKIDEXAMPLE';
process.env.AWS_SECRET_ACCESS_KEY = 'an example';

/** `pinned`: the authorities are given; else they are those of the machine. */
function connectionsTo(port) {
  const baseUrl = `https://localhost:${port}`;
  const client = createClient({
    baseUrl,
    caBundle: at('ca.pem'),
    ...own,
    retry: { attempts: 1 },
    targets: { [baseUrl]: { domain: 'catalog' } },
  });
  return {
    pinned: {
      client: () => client.roles.list({ domain: 'catalog' }),
      registration: () =>
        getJson({ baseUrl, caBundle, timeoutMs: 9000, isServer: checkServerIs() }, ['status'], signal),
      'keys of the engine': () => fetchWithTls(texts)(`${baseUrl}/keys`, { headers: {}, signal }),
      'issuer of the log-in': () => boundedFetch(caBundle)(`${baseUrl}/keys`),
      doctor: async () => {
        const answer = await probeTls(baseUrl, { caBundle, checkServerIdentity: checkServerIs() }, 9000);
        if (answer === undefined) throw new Error('there is no answer');
      },
      management: () =>
        manage(
          { url: baseUrl, ca: at('ca.pem'), cert: own.certificate, key: own.key },
          { method: 'GET', path: ['domains'] },
        ),
      'target of the client': () => client.fetch(`${baseUrl}/movies`),
      provider: () =>
        callOut.provider('sys.auth.server', `${baseUrl}/attest`, 0).attest({
          ...attested,
          attestationData: 'a',
          altNames: [],
        }),
      database: async () => {
        const hosts = [`localhost:${port}`];
        const ca = at('ca.pem');
        const place = { kind: 'postgres', hosts, database: 'd', user: 'u', ca, poolSize: 1, migrate: 'manual' };
        await openStore({ ...place, statementTimeoutMs: 3000, connectTimeoutMs: 3000, listen: false });
      },
    },
    system: {
      'keys of the engine, public': () =>
        fetchWithTls({ serverIdentity: 'host-name' })(`${baseUrl}/keys`, { headers: {}, signal }),
      'issuer with a public certificate': () => boundedFetch(undefined)(`${baseUrl}/keys`),
      'STS of AWS': () => createSts({ region: 'eu-central-1', endpoint: baseUrl, timeoutMs: 3000 }).assumeRole(session),
    },
  };
}

const told = [];
for (const port of ports) {
  for (const [trust, each] of Object.entries(connectionsTo(port))) {
    for (const [name, connect] of Object.entries(each)) {
      const outcome = await connect().then(
        () => 'answered',
        (error) => String(error?.cause?.code ?? error?.detail?.reason ?? error?.code ?? error?.message),
      );
      told.push({ port: Number(port), trust, name, outcome });
    }
  }
}
process.stdout.write(JSON.stringify(told));
process.exit(0);
