import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createProvider } from '@signet/example-provider/provider';
import { listen } from '@signet/example-provider/tls-server';
import { systemClock } from '@signet/policy-engine/clock';
import { gracefulServer } from '@signet/policy-engine/http';
import { parseDomainName } from '@signet/policy-engine/names';
import { TestAuthority, TestClock } from '@signet/policy-engine/testing';
import { createLogger } from '@signet/server/logger';
import test, { type ExecutionContext } from 'ava';
import { domainContent } from '#support/domain-sketch';
import { instanceDomains, instanceRequest, instanceWorld, json, keyPem } from '#support/instance-world';
import { createPki } from '#support/pki';
import { ecPair } from '#support/requests';
import { saveDomain } from '#support/save-domain';

const secret = 'given when it was set up';

async function start(t: ExecutionContext) {
  const pki = await createPki();
  const world = await instanceWorld(t, { pki, options: { 'instances.callOut.allow': ['127.0.0.1'] } });
  const own = await pki.identity('prov.cloud');
  const at = (name: string) => join(world.folder, name);
  const tls = { certificate: at('provider.cert.pem'), key: at('provider.key.pem'), clientCa: at('bundle.pem') };
  writeFileSync(tls.certificate, own.certificate);
  writeFileSync(tls.key, own.key);
  const secretSha256 = createHash('sha256').update(secret).digest('hex');
  const machines = {
    'm-1': { service: 'media.player', secretSha256 },
    'm-2': { service: 'media.studio', secretSha256 },
  };
  const authority = await TestAuthority.create({ clock: new TestClock(systemClock.now()) });
  const server = createProvider({
    config: {
      domain: parseDomainName('catalog'),
      tls,
      attestation: { asker: 'sys.auth.server', provider: 'prov.cloud', machines },
    },
    engine: authority.engine({}),
    ask: () => Promise.reject(new Error('nobody is asked')),
    clock: systemClock,
    logger: createLogger('silent', { write: () => undefined }),
  });
  const graceful = gracefulServer(server);
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  t.teardown(() => graceful.close({ idleMs: 0, deadlineMs: 100 }));
  const content = domainContent(instanceDomains[1]);
  const services = content.services.map((each) =>
    each.name === 'cloud' ? { ...each, endpoint: `${url}/attest` } : each,
  );
  await world.store.change({ actor: 'test' }, (transaction) => saveDomain(transaction, { ...content, services }));
  await world.running.refresh();
  return { world, url };
}

test('a machine that proves itself registers and refreshes; others do not', async (t) => {
  const { world, url } = await start(t);
  const pair = ecPair();
  const body = {
    provider: 'prov.cloud',
    domain: 'media',
    service: 'player',
    attestationData: secret,
    csr: instanceRequest('m-1', pair),
  };
  const answer = await world.as()('/instance', json(body));
  t.is(answer.status, 201, answer.text);
  const certificate = new Map<string, unknown>(Object.entries(Object(answer.body))).get('x509Certificate');
  const who = { certificate: String(certificate), key: keyPem(pair) };
  const refreshed = await world.as(who)('/instance/prov.cloud/media/player/m-1', json({ csr: instanceRequest('m-1') }));
  t.is(refreshed.status, 200, refreshed.text);

  const unknown = { code: 403, message: 'provider `prov.cloud` does not vouch for the instance: unknown machine' };
  for (const wrong of [
    { attestationData: 'a guess' },
    { csr: instanceRequest('m-2') },
    { csr: instanceRequest('m-3') },
    { csr: instanceRequest('__proto__') },
  ]) {
    t.deepEqual((await world.as()('/instance', json({ ...body, ...wrong }))).body, unknown);
  }
  t.is((await ask(world, url, 'media.player', '{}')).status, 403, 'only the token server may ask');
});

test('what the token server would not send is refused', async (t) => {
  const { world, url } = await start(t);
  const proper = { provider: 'prov.cloud', domain: 'media', service: 'player', attestationData: secret };
  const attributes = { instanceId: 'm-1', clientIP: '127.0.0.1', sanDNS: '' };
  for (const [name, body, status] of [
    ['as it should be', { ...proper, attributes }, 200],
    ['nothing', '', 400],
    ['half an object', '{', 400],
    ['a list', [], 400],
    ['no members', {}, 400],
    ['a secret that is a number', { ...proper, attributes, attestationData: 1 }, 400],
    ['attributes that are none', { ...proper, attributes: { instanceId: ['m-1'] } }, 400],
    ['more than there is room for', { ...proper, attributes, attestationData: 'x'.repeat(70_000) }, 413],
    ['no attributes', proper, 403],
    ['another provider', { ...proper, attributes, provider: 'prov.other' }, 403],
    ['another service', { ...proper, attributes, service: 'studio' }, 403],
    ['a name that nobody vouches for', { ...proper, attributes: { ...attributes, sanDNS: 'a.example' } }, 403],
    ['an address', { ...proper, attributes: { ...attributes, sanIP: '127.0.0.1' } }, 403],
    ['a refresh without a certificate', { ...proper, attributes, path: 'refresh' }, 403],
  ] as const) {
    const path = typeof body === 'object' && 'path' in body ? 'refresh' : 'instance';
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await ask(world, url, 'sys.auth.server', sent, path);
    t.is(answer.status, status, `${name}: ${answer.body}`);
    if (status !== 200) t.is(JSON.parse(answer.body).code, status, name);
  }
});

type World = Awaited<ReturnType<typeof start>>['world'];

async function ask(world: World, url: string, name: string, body: string, path = 'instance') {
  const { certificate, key } = await world.pki.identity(name);
  const options = { method: 'POST', cert: certificate, key, ca: world.pki.bundle, agent: false } as const;
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const call = request(`${url}/attest/${path}`, { ...options, checkServerIdentity: () => undefined }, (answer) => {
      text(answer).then((said) => resolve({ status: answer.statusCode ?? 0, body: said }), reject);
    });
    call.on('error', reject);
    call.end(body);
  });
}
