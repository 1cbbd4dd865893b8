import { X509Certificate } from 'node:crypto';
import { mock } from 'node:test';
import { epochSeconds, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { openStore } from '@signet/server/store/open';
import { forgetEnded, keptSeconds } from '@signet/server/x509/housekeeping';
import { issuerLife, watchIssuerLife } from '@signet/server/x509/issuer-life';
import test, { type ExecutionContext } from 'ava';
import { makeAuthority } from '#support/authority';
import { FakeClock } from '#support/clock';
import { field, instanceRequest, instanceWorld, json } from '#support/instance-world';
import { readinessOf } from '#support/operators';
import { revoke } from '#support/revoke';
import { type StoreKind, storeKinds } from '#support/store-kinds';
import { temporaryFolder } from '#support/temp';

const holder = parsePrincipalName('media.player');

async function filledStore(t: ExecutionContext, { place }: StoreKind) {
  const clock = new FakeClock(1_700_000_000_000);
  const store = await openStore(await place(t), { clock });
  t.teardown(() => store.close());
  const now = epochSeconds(clock);
  const intend = (serial: string, notAfter: number) =>
    store.certificates.intend(
      { serial, issuer: 'i', kind: 'service', subject: 'media.player', holder, notBefore: now - 60, notAfter },
      now,
    );
  return { clock, store, now, intend };
}

for (const kind of storeKinds) {
  test(`${kind.name}: what ended long ago is forgotten in batches; what revocations are counted from stays`, async (t) => {
    const { clock, store, now, intend } = await filledStore(t, kind);
    const { certificates, instances } = store;
    for (let index = 0; index < 510; index += 1) await intend(`0${index}`, now + 60);
    await intend('living', now + keptSeconds + 600);
    for (const serial of ['00', '01']) await revoke(store, serial, { reason: 'unspecified', at: now, by: 'test' });
    const key = {
      provider: parsePrincipalName('sys.auth.server'),
      domain: parseDomainName('media'),
      service: parseServiceName('player'),
      instanceId: parsePathElement('i-1'),
    };
    await instances.addJoinToken('old', { ...key, expires: now + 60, createdBy: holder });
    await instances.addJoinToken('new', { ...key, expires: now + keptSeconds + 600, createdBy: holder });

    await forgetEnded({ store, certificates, instances, clock });
    t.truthy(await certificates.find('0509'), 'nothing has ended yet');
    clock.advance((keptSeconds + 61) * 1000);
    await forgetEnded({ store, certificates, instances, clock });
    const left = await Promise.all(['00', '01', '02', '0509', 'living'].map((serial) => certificates.find(serial)));
    t.deepEqual(
      left.map((row) => row?.serial),
      [undefined, '01', undefined, undefined, 'living'],
    );
    t.is(await instances.pruneJoinTokens(now * 2, 500), 1, 'only the newer token was left');

    // a server that has seen both revocations hears of the third
    t.true(await revoke(store, 'living', { reason: 'unspecified', at: epochSeconds(clock), by: 'test' }));
    t.deepEqual(
      (await certificates.revocationsAfter(2, epochSeconds(clock))).map(({ serial, sequence }) => [serial, sequence]),
      [['living', 3]],
    );
  });

  test(`${kind.name}: an instance is forgotten when all of its certificates ended long ago, a revoked one as well`, async (t) => {
    const { clock, store, now } = await filledStore(t, kind);
    const { certificates, instances } = store;
    const day = 86_400;
    const keyOf = (id: string) => ({
      provider: parsePrincipalName('sys.auth.server'),
      domain: parseDomainName('media'),
      service: parseServiceName('player'),
      instanceId: parsePathElement(id),
    });
    const give = async (id: string, serial: string, notAfter: number) => {
      const row = {
        serial,
        issuer: 'i',
        kind: 'instance',
        subject: 'media.player',
        notBefore: now - 60,
        notAfter,
      } as const;
      await certificates.intend({ ...row, holder, ...keyOf(id) }, now);
      return { serial, fingerprint: 'f', notAfter };
    };
    for (const id of ['gone-1', 'gone-2', 'gone-3']) {
      await instances.register(keyOf(id), await give(id, id, now + day), { clientOnly: false, at: now });
    }
    await instances.register(keyOf('alive'), await give('alive', 'a1', now + 60 * day), { clientOnly: false, at: now });
    await instances.register(keyOf('revoked'), await give('revoked', 'b1', now + 40 * day), {
      clientOnly: false,
      at: now,
    });
    t.is(
      await instances.rotate(keyOf('revoked'), { serial: 'b1', at: now }, await give('revoked', 'b2', now + day)),
      'moved',
    );
    await store.change({ actor: 'test' }, (change) =>
      change.revokeInstance(keyOf('revoked'), { reason: 'key-compromise', at: now, by: 'test' }),
    );
    const left = async () =>
      (await instances.list({ domain: parseDomainName('media'), limit: 100 })).map(({ instanceId }) =>
        String(instanceId),
      );

    clock.advance(20 * day * 1000);
    await forgetEnded({ store, certificates, instances, clock });
    t.deepEqual(await left(), ['alive', 'gone-1', 'gone-2', 'gone-3', 'revoked'], 'they ended less than 30 days ago');
    clock.advance(20 * day * 1000);
    const before = epochSeconds(clock) - keptSeconds;
    t.deepEqual([await certificates.prune(before, 2), (await left()).length], [2, 3]);
    await forgetEnded({ store, certificates, instances, clock });
    t.deepEqual(await left(), ['alive', 'revoked'], 'a longer certificate of the revoked one would count until day 40');
    t.like(await instances.find(keyOf('revoked')), { revoked: true });
    clock.advance(31 * day * 1000);
    // The last revocation is kept: another one takes its place.
    await revoke(store, 'a1', { reason: 'superseded', at: epochSeconds(clock), by: 'test' });
    await forgetEnded({ store, certificates, instances, clock });
    t.deepEqual(await left(), ['alive']);
  });

  test(`${kind.name}: a batch is no greater than it may be`, async (t) => {
    const { store, now, intend } = await filledStore(t, kind);
    for (const serial of ['0a', '0b', '0c']) await intend(serial, now - 10);
    t.deepEqual(
      [
        await store.certificates.prune(now, 2),
        await store.certificates.prune(now, 2),
        await store.certificates.prune(now, 2),
      ],
      [2, 1, 0],
    );
  });

  test(`${kind.name}: who takes a certificate back is in the audit log, once`, async (t) => {
    const { store, now, intend } = await filledStore(t, kind);
    await intend('0a', now + 60);
    const revocation = { reason: 'key-compromise', at: now, by: 'local:ann' } as const;
    const revokeAs = (serial: string) =>
      store.change({ actor: 'local:ann', reason: 'key-compromise' }, (change) =>
        change.revokeCertificate(serial, revocation),
      );
    t.deepEqual([await revokeAs('0a'), await revokeAs('0a'), await revokeAs('0b')], [true, false, false]);
    const { id, ...record } = (await store.audit({ limit: 10 }))[0] ?? { id: 0 };
    t.is((await store.audit({ limit: 10 })).length, 1);
    t.true(id > 0);
    t.deepEqual(record, {
      at: now * 1000,
      actor: 'local:ann',
      reason: 'key-compromise',
      action: 'revoke-certificate',
      subject: '0a',
      before: JSON.stringify({ kind: 'service', subject: 'media.player', holder: 'media.player', notAfter: now + 60 }),
      after: JSON.stringify({ at: now, reason: 'key-compromise' }),
    } as never);
    t.is((await store.verifyAudit()).fault, undefined);
  });
}

test('readiness says how fresh the revocation lists are', async (t) => {
  const world = await instanceWorld(t);
  const lists = async () => {
    const { revocationLists } = await readinessOf(world, world.pki);
    return revocationLists;
  };
  t.deepEqual(await lists(), { status: 'fresh', left: 1 });
  await (await world.identity('media.studio'))('/crl');
  t.deepEqual(await lists(), { status: 'fresh', left: 1 });
});

test('readiness says when a revocation list or the certificate of the server is not renewed in time', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const world = await instanceWorld(t, { clock });
  t.is((await (await world.identity('media.studio'))('/crl')).status, 200);
  const told = async (afterMs: number) => {
    clock.advance(afterMs);
    const { code, revocationLists, certificate } = await readinessOf(world, world.pki);
    return [code, field(revocationLists, 'status'), field(certificate, 'status')];
  };
  const hour = 3_600_000;
  t.deepEqual(await told(0), [200, 'fresh', 'fresh']);
  t.deepEqual(await told(12 * hour), [200, 'fresh', 'fresh'], 'there is time to make it again');
  t.deepEqual(await told(2 * hour), [200, 'late', 'fresh']);
  t.deepEqual(await told(10 * hour), [200, 'ended', 'fresh']);
  t.deepEqual(await told(23 * 24 * hour), [200, 'ended', 'late']);
  t.deepEqual(await told(7 * 24 * hour), [503, 'ended', 'ended']);
});

/** Seconds since the epoch. */
function lifeOf(pem: string) {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  return { notBefore: validFromDate.getTime() / 1000, notAfter: validToDate.getTime() / 1000 };
}

test.serial('the log announces the end of the issuing authority from the last third of its life on', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const logged: Record<string, unknown>[] = [];
  const issuer = await makeAuthority(temporaryFolder(t));
  const { notBefore, notAfter } = lifeOf(issuer.certificatePem);
  const life = (notAfter - notBefore) * 1000;
  const set = { active: [{ notBefore, notAfter }] } as never;
  const atLeft = (share: number) => clock.set(notAfter * 1000 - life * share);
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  atLeft(0.34);
  const tell = (level: string) => (members: object, msg: string) => void logged.push({ level, ...members, msg });
  using _ = watchIssuerLife({ current: () => set }, clock, { warn: tell('warn'), error: tell('error') } as never);
  const said = (share: number) => {
    atLeft(share);
    mock.timers.tick(600_000);
    return [issuerLife(set, epochSeconds(clock))?.status, ...logged.splice(0).map(({ level }) => level)];
  };
  t.deepEqual(
    [said(0.34), said(0.33), said(0.33), said(0), said(-0.1)],
    [['fresh'], ['late', 'warn'], ['late'], ['ended', 'error'], ['ended', 'error']],
  );
});

test('a registration in the last minute of the issuing authority is 503 with the reason', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const world = await instanceWorld(t, { clock });
  const { notAfter } = lifeOf(world.pki.issuer.certificate);
  const long = async (name: string) =>
    world.as(await world.pki.odd({ subject: `CN=${name}`, notAfter: notAfter * 1000 + 86_400_000 }));
  const issuer = async () => field((await (await long('sys.auth.operator'))('^/readyz')).body, 'issuer');
  t.like(await issuer(), { status: 'fresh' });
  clock.set((notAfter - 59) * 1000);
  const end = formatTimestamp(notAfter * 1000);
  t.deepEqual(await issuer(), { status: 'late', notAfter: end });
  const { body: given } = await (await long('media.admin'))('/instance/sys.auth.server/media/player/i-1/token');
  const names = { provider: 'sys.auth.server', domain: 'media', service: 'player' };
  const attestationData = String(field(given, 'attestationData'));
  const request = json({ ...names, attestationData, csr: instanceRequest('i-1') });
  const { status, headers, body } = await world.as()('/instance', request);
  t.deepEqual([status, headers['retry-after']], [503, '60']);
  t.is(field(body, 'message'), `no certificates are issued: the issuing authority ends at ${end}`);
});
