import { X509Certificate } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createClient,
  type IdentityAgentOptions,
  identityPaths,
  openIdentityAgent,
  readIdentityFiles,
  SignetClientError,
} from '@signet/client';
import { systemClock } from '@signet/policy-engine/clock';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { instanceWorld } from '#support/instance-world';
import { wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';
import { internals } from '../../limits/row.ts';
import { makePki } from '../support/pki.ts';
import { answer, startTlsServer } from '../support/tls-server.ts';

const file = wholeFile();
const world = await instanceWorld(file);
test.after.always(() => file.end());

function options(
  t: ExecutionContext,
  instanceId: string,
  more: Partial<IdentityAgentOptions> = {},
): IdentityAgentOptions {
  const folder = join(temporaryFolder(t), 'identity');
  const instance = {
    provider: 'sys.auth.server',
    domain: 'media',
    service: 'player',
    instanceId,
    trustDomain: 'signet.test',
    expirySeconds: 3600,
  };
  return {
    baseUrl: world.baseUrl,
    caBundle: join(world.folder, 'bundle.pem'),
    instance,
    folder,
    attestation: async (operation) => (operation === 'register' ? world.token(instanceId) : undefined),
    random: () => 0.5,
    ...more,
  };
}

test('an instance registers, keeps its certificate, and renews it at its time', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const settings = options(t, 'a-1', { clock, steady: () => clock.now() });
  const agent = openIdentityAgent(settings);
  const first = await agent.step();
  t.is(first.kind, 'registered');
  const paths = identityPaths(settings.folder);
  const leaf = new X509Certificate(readFileSync(paths.certificate));
  t.is(leaf.subject, 'CN=media.player');
  t.deepEqual([statSync(paths.key).mode & 0o777, statSync(paths.certificate).mode & 0o777], [0o600, 0o644]);

  const second = await agent.step();
  t.like(second, { kind: 'current', notAfter: leaf.validToDate.getTime(), nextAt: first.nextAt });
  const share = (first.nextAt - clock.now()) / 3_600_000;
  t.true(share > 0.499 && share < 0.701, String(share));
  const again = await openIdentityAgent({ ...settings, clock }).step();
  t.true(Math.abs(again.nextAt - first.nextAt) <= 2000, 'a restart keeps the time');

  const client = createClient({ baseUrl: world.baseUrl, caBundle: settings.caBundle, ...paths, reloadIntervalMs: 1 });
  t.teardown(() => client.close());
  t.deepEqual(await client.access.roles({ domain: 'catalog', principal: 'media.player' }), ['reader']);
  const before = (await client.identity()).thumbprint;

  clock.set(first.nextAt);
  const third = await agent.step();
  t.is(third.kind, 'refreshed');
  t.not(readFileSync(paths.certificate, 'utf8'), leaf.toString());
  await until('the client has the new certificate', async () => (await client.identity()).thumbprint !== before);
  t.deepEqual(await client.access.roles({ domain: 'catalog', principal: 'media.player' }), ['reader']);
});

test('an agent that starts again goes on with the certificate on disk', async (t) => {
  const settings = options(t, 'a-2');
  t.is((await openIdentityAgent(settings).step()).kind, 'registered');
  const again = openIdentityAgent({ ...settings, attestation: async () => undefined });
  t.is((await again.step()).kind, 'current');
  t.is((await again.step({ force: true })).kind, 'refreshed');
});

test('several that keep one folder renew one after the other', async (t) => {
  const settings = options(t, 'a-1b');
  const token = world.token('a-1b');
  const own = { ...settings, attestation: async (op: string) => (op === 'register' ? token : undefined) };
  const agents = [openIdentityAgent(own), openIdentityAgent(own), openIdentityAgent(own)];
  const kinds = async (force: boolean) =>
    (await Promise.all(agents.map((agent) => agent.step({ force })))).map(({ kind }) => kind).sort();
  t.deepEqual(await kinds(false), ['current', 'current', 'registered'], 'the token counts once');
  for (let round = 0; round < 3; round += 1) {
    t.deepEqual(await kinds(true), ['refreshed', 'refreshed', 'refreshed']);
    t.truthy(await readIdentityFiles(settings.folder));
  }
  const names = readdirSync(settings.folder).filter((name) => !name.startsWith('.identity-'));
  t.deepEqual(names.sort(), ['.current', 'cert.pem', 'issuers.pem', 'key.pem']);
});

test('an identity that could not be kept is not asked for', async (t) => {
  const settings = options(t, 'a-1c');
  const agent = openIdentityAgent(settings);
  t.is((await agent.step()).kind, 'registered');
  // In the way of the file that shows that there is room.
  const inTheWay = join(settings.folder, 'room.new');
  mkdirSync(inTheWay);
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const outcome = await agent.step({ force: true });
    t.is(outcome.kind === 'failed' && outcome.error.code, 'invalid-identity');
  }
  rmSync(inTheWay, { recursive: true });
  t.is((await agent.step({ force: true })).kind, 'refreshed', 'the certificate of before is still the last one');
});

test('while the server is away the certificate stays, and one that has ended is replaced without a hand', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const settings = options(t, 'a-3', { clock });
  const agent = openIdentityAgent(settings);
  const first = await agent.step();
  const away = openIdentityAgent({ ...settings, baseUrl: 'https://127.0.0.1:1/v1', timeoutMs: 60_000 });
  clock.set(first.nextAt);
  const certificate = readFileSync(identityPaths(settings.folder).certificate, 'utf8');
  const waits: number[] = [];
  for (let i = 0; i < 4; i += 1) {
    const outcome = await away.step({ force: true });
    t.is(outcome.kind, 'failed');
    if (outcome.kind === 'failed') t.is(outcome.error.code, 'unreachable');
    waits.push(outcome.nextAt - clock.now());
  }
  t.deepEqual(waits, [12_500, 15_000, 30_000, 60_000]);
  t.like(await away.step(), { kind: 'current' }, 'it waits for its time');
  t.is(readFileSync(identityPaths(settings.folder).certificate, 'utf8'), certificate);

  clock.advance(3_600_000);
  const back = await openIdentityAgent(settings).step();
  t.is(back.kind, 'refreshed', 'it has ended by this clock only: the server knows better');
});

for (const [name, failure] of [
  ['is not accepted', { code: 'refused', answer: { status: 401 } }],
  ['is refused by TLS', { code: 'tls' }],
  ['cannot be shown to anyone', { code: 'unreachable' }],
] as const) {
  test(`a certificate that has ended and ${name} gives way to a new registration`, async (t) => {
    const clock = new FakeClock(systemClock.now());
    const settings = options(t, `a-ended-${failure.code}`, { clock });
    t.is((await openIdentityAgent(settings).step()).kind, 'registered');
    clock.advance(3_700_000);
    const { code, ...answer } = failure;
    const refresh = () => Promise.reject(new SignetClientError(code, 'no', answer));
    const identity = await openIdentityAgent({ ...settings, folder: `${settings.folder}-2` }).step();
    t.is(identity.kind, 'registered');
    const texts = await readIdentityFiles(`${settings.folder}-2`);
    if (texts === undefined || identity.kind !== 'registered') return t.fail('no identity');
    const received = { ...texts, notAfter: identity.notAfter, serial: identity.serial };
    const agent = openIdentityAgent(settings, { refresh, register: async () => received });
    t.is((await agent.step()).kind, 'registered');
  });
}

test('an instance that was deleted, or whose lineage was broken, registers again', async (t) => {
  const settings = options(t, 'a-4');
  const agent = openIdentityAgent(settings);
  await agent.step();
  await (await world.identity('media.admin'))('/instance/sys.auth.server/media/player/a-4', { method: 'DELETE' });
  t.is((await agent.step({ force: true })).kind, 'registered');

  const spent = openIdentityAgent({
    ...settings,
    attestation: async (operation) => (operation === 'register' ? 'signet-join-spent' : undefined),
  });
  await (await world.identity('media.admin'))('/instance/sys.auth.server/media/player/a-4', { method: 'DELETE' });
  const outcome = await spent.step({ force: true });
  t.is(outcome.kind, 'failed');
  if (outcome.kind === 'failed') t.deepEqual([outcome.error.code, outcome.error.status], ['refused', 403]);
  t.truthy(await readIdentityFiles(settings.folder));
});

test('an answer that was lost costs nothing', async (t) => {
  const settings = options(t, 'a-5');
  await openIdentityAgent(settings).step();
  const copy = join(temporaryFolder(t), 'copy');
  cpSync(settings.folder, copy, { recursive: true, verbatimSymlinks: true });
  const lost = openIdentityAgent({ ...settings, folder: copy, attestation: async () => undefined });
  t.is((await lost.step({ force: true })).kind, 'refreshed', 'this answer is not seen by the instance');
  const agent = openIdentityAgent({ ...settings, attestation: async () => undefined });
  t.is((await agent.step({ force: true })).kind, 'refreshed');
  t.is((await agent.step({ force: true })).kind, 'refreshed');
});

test('a folder that cannot be written is a failure, not an end', async (t) => {
  const folder = join(temporaryFolder(t), 'file');
  writeFileSync(folder, '');
  const outcome = await openIdentityAgent(options(t, 'a-6', { folder })).step();
  t.is(outcome.kind, 'failed');
  if (outcome.kind === 'failed') t.is(outcome.error.code, 'invalid-identity');
});

for (const [name, offMs] of [
  ['two hours ahead', 2 * 3_600_000],
  ['two hours behind', -2 * 3_600_000],
] as const) {
  test(`with a clock that is ${name} the certificate is renewed in its real time, and not again and again`, async (t) => {
    const start = systemClock.now();
    let passed = 0;
    const clock = { now: () => start + offMs + passed };
    const settings = options(t, `a-off-${offMs}`, { clock, steady: () => passed });
    const agent = openIdentityAgent(settings);
    const kinds: string[] = [];
    for (; passed < 3_600_000; passed += 60_000) kinds.push((await agent.step()).kind);
    t.is(kinds[0], 'registered');
    t.deepEqual(kinds.filter((kind) => kind !== 'current').slice(1), ['refreshed']);
    const at = kinds.indexOf('refreshed');
    t.true(at >= 30 && at <= 43, `after ${at} minutes`);
  });
}

for (const stepMs of [2 * 3_600_000, -2 * 3_600_000, -300_000]) {
  test(`a clock that steps by ${stepMs / 60_000} minutes leads to one renewal at most, and none is missed`, async (t) => {
    const clock = new FakeClock(systemClock.now());
    let steady = 0;
    const settings = options(t, `a-step-${stepMs}`, { clock, steady: () => steady });
    const agent = openIdentityAgent(settings);
    t.is((await agent.step()).kind, 'registered');
    clock.advance(stepMs);
    const kinds: string[] = [];
    for (let minute = 0; minute < 45; minute += 1) {
      kinds.push((await agent.step()).kind);
      clock.advance(60_000);
      steady += 60_000;
    }
    const renewed = kinds.filter((kind) => kind !== 'current');
    // A step forward renews at once, and then again in its time.
    t.deepEqual(renewed, stepMs > 0 ? ['refreshed', 'refreshed'] : ['refreshed']);
  });
}

test('while one server is away another one is asked; a refusal is the same everywhere', async (t) => {
  const away = 'https://127.0.0.1:1/v1';
  const settings = options(t, 'a-two');
  const agent = openIdentityAgent({ ...settings, baseUrl: [away, world.baseUrl] });
  t.is((await agent.step()).kind, 'registered');
  t.is((await agent.step({ force: true })).kind, 'refreshed');

  const refused = openIdentityAgent({
    ...settings,
    folder: `${settings.folder}-2`,
    baseUrl: [world.baseUrl, away],
    attestation: async () => 'signet-join-wrong',
  });
  const outcome = await refused.step();
  t.is(outcome.kind === 'failed' && outcome.error.status, 403);
  const nobody = openIdentityAgent({ ...settings, folder: `${settings.folder}-3`, baseUrl: [away, away] });
  const last = await nobody.step();
  t.is(last.kind === 'failed' && last.error.code, 'unreachable');
});

test('a certificate that is not the one that was asked for does not replace the one in use', async (t) => {
  const settings = options(t, 'a-other');
  t.is((await openIdentityAgent(settings).step()).kind, 'registered');
  const before = await readIdentityFiles(settings.folder);
  const folder = temporaryFolder(t);
  const pki = await makePki(folder);
  const other = await world.pki.identity('media.player');
  const server = await startTlsServer(t, {
    identity: await pki.issue('sys.auth.server', ['localhost']),
    ca: world.pki.bundle,
    respond: () => undefined,
  });
  const agent = openIdentityAgent({ ...settings, baseUrl: server.baseUrl, caBundle: pki.caFile });
  for (const body of [
    {},
    { x509Certificate: 'none', x509CertificateSigner: 'none' },
    // another key's certificate
    { x509Certificate: other.certificate, x509CertificateSigner: world.pki.bundle },
  ]) {
    server.respond = (_request, response) => answer(response, 200, body);
    const outcome = await agent.step({ force: true });
    t.is(outcome.kind === 'failed' && outcome.error.code, 'response-malformed');
    t.deepEqual(await readIdentityFiles(settings.folder), before);
  }
});

test('the pause that a refusal asks for is kept', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const busy = new SignetClientError('server-error', 'busy', { answer: { status: 503, retryAfterSeconds: 30 } });
  const fail = () => Promise.reject(busy);
  const agent = openIdentityAgent(options(t, 'a-busy', { clock }), { register: fail, refresh: fail });
  t.is((await agent.step()).nextAt - clock.now(), 37_500);
});

test('the pause that a refusal asks for does not outlast the certificate', async (t) => {
  const settings = options(t, 'a-long-pause');
  const registered = await openIdentityAgent(settings).step();
  t.is(registered.kind, 'registered');
  const clock = new FakeClock(systemClock.now());
  const busy = new SignetClientError('server-error', 'busy', { answer: { status: 503, retryAfterSeconds: 86_400 } });
  const fail = () => Promise.reject(busy);
  const agent = openIdentityAgent({ ...settings, clock, random: () => 1 }, { register: fail, refresh: fail });
  const { kind, nextAt, ...rest } = await agent.step({ force: true });
  t.is(kind, 'failed');
  const left = ('notAfter' in rest ? Number(rest.notAfter) : 0) - clock.now();
  t.true(left > 0 && left < 86_400_000, `${left}`);
  t.true(
    nextAt - clock.now() <= left / 2 && nextAt - clock.now() >= left / 2 - 2000,
    `${nextAt - clock.now()} of ${left}`,
  );
});

test('run renews until it is told to stop', async (t) => {
  const settings = options(t, 'a-7');
  const stop = new AbortController();
  const kinds: string[] = [];
  const running = openIdentityAgent(settings).run(stop.signal, ({ kind }) => kinds.push(kind));
  await until('it has registered', () => kinds.length > 0);
  stop.abort();
  await running;
  t.deepEqual(kinds, ['registered']);
});

test('no pause is shorter than ten seconds, and those of a fleet are spread, whatever life is left', async (t) => {
  const { pauseAfter } = await internals<{
    pauseAfter(error: object, failures: number, leftMs: number | undefined, random: number): number;
  }>('client/src/identity/renewal.ts');
  const answers = [{}, { retryAfterSeconds: 1 }, { retryAfterSeconds: 60 }, { retryAfterSeconds: 86_400 }];
  for (const answer of answers) {
    for (const left of [undefined, -1, 0, 1, 1000, 30_000, 120_000, 3_600_000]) {
      for (const failures of [1, 2, 3, 8, 1000]) {
        const [least = 0, , most = 0] = [0, 0.5, 1].map((random) => pauseAfter(answer, failures, left, random));
        t.true(least >= 10_000 && most - least >= 5000, `${JSON.stringify({ answer, left, failures, least, most })}`);
      }
    }
  }
});

test('an agent whose certificate has ended asks once where the server answers 503', async (t) => {
  const settings = options(t, 'a-ended');
  t.is((await openIdentityAgent(settings).step()).kind, 'registered');
  const steps = { steady: 0 };
  const clock = new FakeClock(systemClock.now());
  const asked: string[] = [];
  const fail = (what: string) => () => {
    asked.push(what);
    const answer = { status: 503, retryAfterSeconds: 60 };
    return Promise.reject(new SignetClientError('server-error', 'the issuing authority ended', { answer }));
  };
  const transport = { register: fail('register'), refresh: fail('refresh') };
  const agent = openIdentityAgent({ ...settings, clock, steady: () => steps.steady }, transport);
  t.is((await agent.step()).kind, 'current');
  clock.advance(400 * 86_400_000);
  steps.steady += 400 * 86_400_000;
  const outcome = await agent.step();
  t.is(outcome.kind, 'failed');
  t.deepEqual(asked, ['refresh']);
  t.true(outcome.nextAt - clock.now() >= 60_000);
});
