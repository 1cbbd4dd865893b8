import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import test from 'ava';
import { type Answering, confirm, registration, setEndpoint, worldWith } from '#support/called-provider';
import { FakeClock } from '#support/clock';
import { field, instanceDomains, json, keyPem, register } from '#support/instance-world';
import { ecPair } from '#support/requests';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* Each has a server and a provider of its own: one after the other, so that a busy machine is not waited for by all of them. */

test.serial('a provider is asked over mutual TLS, and what it says about the certificate holds', async (t) => {
  const attributes = { certUsage: 'client', certExpiryTime: '10', certSSH: 'true', zone: 'z1' };
  const world = await worldWith(t, confirm(attributes));
  const pair = ecPair();
  const answer = await world.as()('/instance', json(registration('c-1', pair)));
  t.is(answer.status, 201, answer.text);
  t.deepEqual(field(answer.body, 'attributes'), { zone: 'z1' });
  t.deepEqual(world.calls, [
    {
      path: '/attest/instance',
      caller: 'CN=sys.auth.server',
      body: {
        provider: 'prov.cloud',
        domain: 'media',
        service: 'player',
        attestationData: 'signed by the cloud',
        attributes: {
          instanceId: 'c-1',
          clientIP: '127.0.0.1',
          sanDNS: 'player.media.prov.example.com',
          sanURI: 'spiffe://signet.test/ns/default/sa/media.player',
        },
      },
    },
  ]);
  const certificate = String(field(answer.body, 'x509Certificate'));
  const leaf = new X509Certificate(certificate);
  t.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  t.is(leaf.validToDate.getTime() - leaf.validFromDate.getTime(), (600 + 3600) * 1000);

  const refreshed = await world.as({ certificate, key: keyPem(pair) })(
    '/instance/prov.cloud/media/player/c-1',
    json({ ...registration('c-1'), attestationData: '' }),
  );
  t.is(refreshed.status, 200, refreshed.text);
  t.is(world.calls[1]?.path, '/attest/refresh');
  t.is(field(field(world.calls[1]?.body, 'attributes'), 'principal'), 'media.player');
});

test.serial('an instance that registered for clients only stays so, whatever its provider says later', async (t) => {
  const answers = [{ certUsage: 'client' }, {}];
  const world = await worldWith(t, (call, response, request) => confirm(answers.shift())(call, response, request));
  const pair = ecPair();
  const registered = await world.as()('/instance', json(registration('c-9', pair)));
  const certificate = String(field(registered.body, 'x509Certificate'));
  const refreshed = await world.as({ certificate, key: keyPem(pair) })(
    '/instance/prov.cloud/media/player/c-9',
    json(registration('c-9', pair)),
  );
  t.deepEqual([registered.status, refreshed.status, answers], [201, 200, []]);
  const leaf = new X509Certificate(String(field(refreshed.body, 'x509Certificate')));
  t.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.2']);
});

test.serial(
  'a provider states host names for a host certificate only as far as policy lets it vouch for them',
  async (t) => {
    const authority = join(temporaryFolder(t), 'host.pem');
    writeFileSync(authority, createSshAuthorityKey(), { mode: 0o600 });
    const attributes = { certSSH: 'true', attestedSshCertPrincipals: 'one.hosts.example,bank.example' };
    const world = await worldWith(t, confirm(attributes), { 'ssh.hostAuthority': authority });
    const [sysAuth] = instanceDomains;
    const { providers } = sysAuth.policies;
    const hosts = ['ALLOW', 'providers', 'launch', 'hostname.hosts.example'] as const;
    await world.save({ ...sysAuth, policies: { providers: [...providers, hosts] } });
    const publicKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));
    const ask = async (id: string, principal: string) => {
      const certRequestMeta = { requestor: 'media.player', certType: 'host' };
      const ssh = JSON.stringify({ certRequestData: { principals: [principal], publicKey }, certRequestMeta });
      return (await world.as()('/instance', json({ ...registration(id), ssh }))).status;
    };
    t.deepEqual([await ask('h-1', 'one.hosts.example'), await ask('h-2', 'bank.example')], [201, 403]);
  },
);

test.serial('an instance whose provider wants no record refreshes without one', async (t) => {
  const world = await worldWith(t, confirm({ certRefresh: 'false' }));
  const pair = ecPair();
  const answer = await world.as()('/instance', json(registration('c-2', pair)));
  const who = { certificate: String(field(answer.body, 'x509Certificate')), key: keyPem(pair) };
  for (let i = 0; i < 3; i += 1) {
    t.is((await world.as(who)('/instance/prov.cloud/media/player/c-2', json(registration('c-2')))).status, 200);
  }
});

test.serial('a provider that was created again is not spoken for with a certificate of the one before', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const world = await worldWith(t, confirm(), {}, 'prov.cloud', clock);
  t.is((await world.as()('/instance', json(registration('c-1')))).status, 201);
  clock.advance(5000);
  await world.save({ ...instanceDomains[1], services: {} });
  await setEndpoint(world, world.url);
  const answer = await world.as()('/instance', json(registration('c-2')));
  t.deepEqual(answer.body, failed);
  t.is(world.calls.length, 1);
});

const failed = { code: 500, message: 'provider `prov.cloud` does not answer' };
const cases: readonly (readonly [name: string, answer: Answering, expected: unknown, as?: string])[] = [
  [
    'it says no',
    (_call, response) => response.writeHead(403).end(JSON.stringify({ code: 403, message: 'unknown\n\u001bmachine' })),
    { code: 403, message: 'provider `prov.cloud` does not vouch for the instance: unknown machine' },
  ],
  [
    'it fails',
    (_call, response) => response.writeHead(500).end('oops'),
    { code: 403, message: 'provider `prov.cloud` does not vouch for the instance' },
  ],
  [
    '201 is not 200',
    (_call, response) => response.writeHead(201).end('{}'),
    { code: 403, message: 'provider `prov.cloud` does not vouch for the instance' },
  ],
  [
    'it sends elsewhere',
    (_call, response) => response.writeHead(302, { location: 'https://127.0.0.1:1/x' }).end(),
    failed,
  ],
  [
    'it vouches for another service',
    ({ body }, response) => response.end(JSON.stringify({ ...Object(body), service: 'studio' })),
    { code: 403, message: 'provider `prov.cloud` vouches for something else' },
  ],
  [
    'its answer is not JSON',
    (_call, response) => response.end('yes'),
    { code: 500, message: 'provider `prov.cloud` gave an answer that cannot be read' },
  ],
  [
    'its answer never ends',
    (_call, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    },
    failed,
  ],
  ['it never answers', () => undefined, failed],
  [
    'its answer is huge',
    (_call, response) => {
      response.writeHead(200);
      response.end('x'.repeat(1_000_000));
    },
    failed,
  ],
  ['it hangs up', (_call, response) => response.destroy(), failed],
  ['it is another service', confirm(), failed, 'prov.eager'],
];
for (const [name, answer, expected, as] of cases) {
  test.serial(`provider: ${name}`, async (t) => {
    // Only those that never answer are given up on.
    const options = name.includes('never') ? { 'instances.callOut.timeoutMs': 1000 } : {};
    const world = await worldWith(t, answer, options, as);
    const { body } = await world.as()('/instance', json(registration('c-3')));
    t.deepEqual(body, expected as typeof body);
  });
}

for (const [name, allow, endpoint] of [
  ['loopback that nobody has listed', [], undefined],
  ['loopback behind a listed name', ['localhost'], (url: string) => url.replace('127.0.0.1', 'localhost')],
  ['loopback in a translated form', ['*.example.com'], (url: string) => url.replace('127.0.0.1', '[64:ff9b::7f00:1]')],
  ["a cloud's secrets in a listed network", ['fd00::/8'], () => 'https://[fd00:ec2::254]/latest'],
  ["the address of a cloud's secrets", ['*.example.com', '10.0.0.0/8'], () => 'https://169.254.169.254/latest'],
  ['no TLS', ['127.0.0.1'], (url: string) => url.replace('https:', 'http:')],
] as const) {
  test.serial(`endpoint refused: ${name}`, async (t) => {
    const world = await worldWith(t, confirm(), { 'instances.callOut.allow': allow });
    if (endpoint !== undefined) await setEndpoint(world, endpoint(world.url));
    const answer = await world.as()('/instance', json(registration('c-4')));
    t.is(answer.status, 500);
    t.regex(String(field(answer.body, 'message')), /not one that may be called$|is not an https address$/);
    t.is(world.calls.length, 0);
  });
}

test.serial(
  'a provider that does not answer costs the others nothing, and after five failures itself nothing',
  async (t) => {
    // It stands still, so that the pause of the circuit does not end meanwhile.
    const clock = new FakeClock(systemClock.now());
    const world = await worldWith(t, () => undefined, { 'instances.callOut.timeoutMs': 300 }, 'prov.cloud', clock);
    const call = world.as();
    for (let i = 0; i < 5; i += 1) t.is((await call('/instance', json(registration('c-5')))).status, 500);
    const asked = world.calls.length;
    const refused = await call('/instance', json(registration('c-5')));
    t.is(refused.status, 500);
    const wait = Number(refused.headers['retry-after']);
    t.true(wait > 0 && wait <= 30, `try again after ${refused.headers['retry-after']} s`);
    t.is(world.calls.length, asked, 'it was not asked a sixth time');
    t.is((await register(world, 'c-6')).answer.status, 201);
  },
);

test.serial('instances of other providers register while those of a slow one wait', async (t) => {
  const world = await worldWith(t, () => undefined, { 'timeouts.drainMs': 0 });
  let waiting = 0;
  const slow = Array.from({ length: 20 }, async (_, index) => {
    waiting += 1;
    await world
      .as()('/instance', json(registration(`c-7-${index}`)))
      .catch(() => undefined);
    waiting -= 1;
  });
  await until('the slow one is asked', () => world.calls.length === 20);
  for (let i = 0; i < 5; i += 1) t.is((await register(world, `c-8-${i}`)).answer.status, 201);
  t.is(waiting, 20, 'not one of them has been given up on by then');
  await world.running.close();
  await Promise.all(slow);
});

test.serial('a provider that fails now and then goes on being asked', async (t) => {
  let calls = 0;
  const world = await worldWith(t, (call, response, request) => {
    calls += 1;
    if (calls % 3 === 0) confirm()(call, response, request);
    else response.destroy();
  });
  const statuses: number[] = [];
  for (let i = 0; i < 12; i += 1) statuses.push((await world.as()('/instance', json(registration('c-9')))).status);
  t.deepEqual(statuses, [500, 500, 201, 500, 500, 201, 500, 500, 201, 500, 500, 201]);
});
