import { randomBytes } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { ServiceUnavailableError, StoreUnavailableError } from '@signet/server/errors';
import type { CertificateRow } from '@signet/server/model/certificate-store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { createCrlPublisher } from '@signet/server/x509/crl-publisher';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import { relativeName } from '@signet/server/x509/distinguished-name';
import { signOrder } from '@signet/server/x509/issue-certificate';
import { IssuerError } from '@signet/server/x509/issuer-files';
import { openIssuers } from '@signet/server/x509/issuers';
import { openLiveRevocations } from '@signet/server/x509/live-revocations';
import { oids } from '@signet/server/x509/oids';
import test, { type ExecutionContext } from 'ava';
import { makeAuthority, type TestAuthority } from '#support/authority';
import { FakeClock } from '#support/clock';
import { CrlsByIssuer } from '#support/crl-store';
import { openssl } from '#support/openssl';
import { ecPair, requestPem } from '#support/requests';
import { revoke } from '#support/revoke';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';
import { TestPace } from '../support/test-pace.ts';

function put(folder: string, authority: TestAuthority, name: string): void {
  for (const [what, text] of [
    ['cert', authority.certificatePem],
    ['key', authority.keyPem],
  ] as const) {
    const path = join(folder, `${name}.${what}.pem`);
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
}

const fail = (error: unknown) => {
  throw error;
};

async function twoIssuers(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const old = await makeAuthority(folder, 'P-256', 'old');
  const next = await makeAuthority(folder, 'P-384', 'next');
  put(folder, old, 'active');
  put(folder, next, 'draining');
  const roots = join(folder, 'roots.pem');
  writeFileSync(roots, old.rootPem + next.rootPem);
  const source = (name: string, state: 'active' | 'draining') => ({
    certificate: join(folder, `${name}.cert.pem`),
    key: join(folder, `${name}.key.pem`),
    state,
  });
  const issuers = await openIssuers({
    sources: [source('active', 'active'), source('draining', 'draining')],
    roots,
    reloadIntervalMs: 3_600_000,
    onError: fail,
  });
  t.teardown(() => issuers.close());
  return { folder, old, next, roots, issuers };
}

const now = () => epochSeconds(systemClock);

function order() {
  const { subjectKey } = parseCertificateRequest(requestPem(ecPair(), { commonNames: ['a.b'] }));
  const names = { commonName: 'a.b', subject: [relativeName(oids.commonName, 'a.b')], altNames: [] };
  return {
    kind: 'service',
    names,
    subjectKey,
    usage: 'both',
    defaultSeconds: 600,
    maxSeconds: [],
    holder: parsePrincipalName('a.b'),
  } as const;
}

test('a rollover: both issuers verify, the new one signs once it is active, and nothing is restarted', async (t) => {
  const { folder, old, next, roots, issuers } = await twoIssuers(t);
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  const deps = {
    issuers,
    certificates: store.certificates,
    clock: systemClock,
    randomBytes: (size: number) => crypto.getRandomValues(Buffer.alloc(size)),
  };
  const verify = async (name: string, pem: string) => {
    writeFileSync(join(folder, name), pem);
    return (await openssl(folder, 'verify', '-x509_strict', '-CAfile', roots, '-untrusted', name, name)).output;
  };
  const before = await signOrder(deps, order());
  t.is(await verify('before.pem', before.pem + before.chainPem), 'before.pem: OK\n');
  t.is(issuers.current().active[0]?.kind, 'P-256');

  t.false(await issuers.reload(), 'nothing has changed');
  put(folder, next, 'active');
  put(folder, old, 'draining');
  t.true(await issuers.reload());
  const after = await signOrder(deps, order());
  t.is(await verify('after.pem', after.pem + after.chainPem), 'after.pem: OK\n');
  t.is(issuers.current().active[0]?.kind, 'P-384');
  t.is(await verify('before.pem', before.pem + before.chainPem), 'before.pem: OK\n');
  writeFileSync(roots, next.rootPem);
  t.true(await issuers.reload());
  t.is(issuers.current().rootsPem, next.rootPem);
  t.false((await verify('before.pem', before.pem + before.chainPem)).endsWith('OK\n'), 'the old root is gone');
});

test('files that do not fit change nothing', async (t) => {
  const { folder, next, issuers } = await twoIssuers(t);
  const good = issuers.current();
  for (const spoil of [
    () => writeFileSync(join(folder, 'active.key.pem'), next.keyPem),
    () => writeFileSync(join(folder, 'active.cert.pem'), 'no certificate'),
    () => rmSync(join(folder, 'roots.pem')),
  ]) {
    spoil();
    await t.throwsAsync(issuers.reload());
    t.is(issuers.current(), good);
  }
});

test('a server without an active issuer does not start', async (t) => {
  const folder = temporaryFolder(t);
  const only = await makeAuthority(folder, 'P-256', 'only');
  put(folder, only, 'only');
  const roots = join(folder, 'roots.pem');
  writeFileSync(roots, only.rootPem);
  const open = (state: 'active' | 'draining') =>
    openIssuers({
      sources: [{ certificate: join(folder, 'only.cert.pem'), key: join(folder, 'only.key.pem'), state }],
      roots,
      reloadIntervalMs: 3_600_000,
      onError: fail,
    });
  await t.throwsAsync(open('draining'), { instanceOf: IssuerError, message: 'no issuer is active' });
  const issuers = await open('active');
  await issuers.close();
});

test('an issuer that is not valid now signs nothing', async (t) => {
  const { issuers } = await twoIssuers(t);
  t.throws(() => issuers.signing(now() + 4000 * 86_400), {
    instanceOf: ServiceUnavailableError,
    message: /^no certificates are issued: the issuing authority ended at \d{4}-/,
  });
  t.throws(() => issuers.signing(now() - 86_400), {
    instanceOf: ServiceUnavailableError,
    message: 'no certificates are issued: the issuing authority is not valid yet',
  });
  const { notBefore } = issuers.signing(now());
  t.is(issuers.signing(notBefore).notBefore, notBefore);
  t.throws(() => issuers.signing(notBefore - 1), { instanceOf: ServiceUnavailableError });
});

test('the intent is on disk before a certificate exists, and orphans can be found', async (t) => {
  const { folder, issuers } = await twoIssuers(t);
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  const seen: CertificateRow[] = [];
  const failing = { signing: () => ({ ...issuers.signing(now()), privateKey: ecPair('P-384').publicKey }) };
  const deps = {
    issuers: failing,
    certificates: store.certificates,
    clock: new FakeClock(now() * 1000),
    randomBytes: () => Buffer.alloc(12, 7),
  };
  await t.throwsAsync(signOrder(deps, order()));
  seen.push(...(await store.certificates.orphans(now() + 60)));
  t.like(seen, [{ subject: 'a.b', kind: 'service', state: 'intended' }] as never);
  t.regex(seen[0]?.serial ?? '', /^[4-7][0-9a-f]{11}(07){10}$/);
  await t.throwsAsync(signOrder({ ...deps, issuers }, order()), {
    message: 'a certificate with this serial number exists',
  });
  t.deepEqual(await store.certificates.orphans(now() - 60), []);
});

test('who asks for a list while an older one is made gets one with its own revocation', async (t) => {
  const { issuers } = await twoIssuers(t);
  const row = {
    issuer: issuers.signing(now()).id,
    reason: 'superseded',
    revokedAt: now(),
    notAfter: now() + 99,
  } as const;
  let sequence = 1;
  const waiting: (() => void)[] = [];
  const lists = new CrlsByIssuer(() => new Promise<void>((resolve) => waiting.push(resolve)));
  const crls = createCrlPublisher({
    issuers,
    clock: systemClock,
    lifetimeSeconds: 600,
    revocations: {
      rereadAt: 0,
      get sequence() {
        return sequence;
      },
      ofIssuer: () => Array.from({ length: sequence }, (_, i) => ({ ...row, serial: `4${i}`, sequence: i + 1 })),
    },
    certificates: lists,
  });
  const before = crls.current();
  const same = crls.current();
  await until('the first list is begun', () => waiting.length === 1);
  sequence = 2;
  const after = crls.current();
  waiting[0]?.();
  t.is(await before, await same);
  await until('the second list is begun', () => waiting.length === 2);
  waiting[1]?.();
  t.true((await after).number > (await before).number);
  t.is(waiting.length, 2);
});

test('100 revocations within a second are one more list, which holds them all', async (t) => {
  const { issuers } = await twoIssuers(t);
  const id = issuers.signing(now()).id;
  const row = { issuer: id, reason: 'superseded', revokedAt: now(), notAfter: now() + 99 } as const;
  const pace = new TestPace();
  let [sequence, made] = [0, 0];
  const lists = new CrlsByIssuer(() => {
    made += 1;
  });
  const crls = createCrlPublisher({
    issuers,
    pace,
    clock: systemClock,
    lifetimeSeconds: 600,
    revocations: {
      rereadAt: 0,
      get sequence() {
        return sequence;
      },
      ofIssuer: () => Array.from({ length: sequence }, (_, i) => ({ ...row, serial: `${10 + i}`, sequence: i + 1 })),
    },
    certificates: lists,
  });
  const first = await crls.current();
  const asked = [];
  for (sequence = 1; sequence < 100; sequence += 1) asked.push(crls.current());
  await pace.advance(999);
  t.is(made, 1);
  await pace.advance(1);
  const [one, ...others] = await Promise.all(asked);
  if (one === undefined) return t.fail();
  t.deepEqual([new Set(others).size, made], [1, 2]);
  t.true(one.number > first.number);
  t.is(await crls.current(), one, 'it holds the last revocation');
});

test('a list goes on being given while none can be made, as long as it is valid and says all', async (t) => {
  const { issuers } = await twoIssuers(t);
  const clock = new FakeClock(now() * 1000);
  const away = new StoreUnavailableError('the disk of the store is full');
  let [sequence, made] = [1, 0];
  const lists = new CrlsByIssuer(() => {
    made += 1;
    if (made > 1) throw away;
  });
  const crls = createCrlPublisher({
    issuers,
    clock,
    lifetimeSeconds: 600,
    revocations: {
      rereadAt: 0,
      get sequence() {
        return sequence;
      },
      ofIssuer: () => [],
    },
    certificates: lists,
  });
  const list = await crls.current();
  clock.advance(400_000);
  t.is(await crls.current(), list);
  await t.throwsAsync(crls.renew(), { is: away });
  sequence = 2;
  await t.throwsAsync(crls.current(), { is: away }, 'something was revoked');
  sequence = 1;
  clock.advance(200_000);
  await t.throwsAsync(crls.current(), { is: away }, 'its time is over');
});

test('what was revoked stays so when the clock runs ahead for a while', async (t) => {
  const { folder, issuers } = await twoIssuers(t);
  const clock = new FakeClock(now() * 1000);
  const store = await openSqliteStore(join(folder, 'signet.db'), { clock });
  t.teardown(() => store.close());
  const { certificates } = store;
  const signed = await signOrder({ issuers, certificates, clock, randomBytes }, order());
  t.true(await revoke(store, signed.serial, { reason: 'superseded', at: epochSeconds(clock), by: 'test' }));
  const revocations = await openLiveRevocations({ certificates, clock, refreshIntervalMs: 3_600_000, onError: fail });
  t.teardown(() => revocations.close());
  t.true(revocations.has(signed.serial));
  const tenYears = 10 * 365 * 86_400_000;
  clock.advance(tenYears);
  await revocations.refresh();
  clock.advance(-tenYears);
  await revocations.refresh();
  t.true(revocations.has(signed.serial));
});

test('lists are reissued at half of their life and after a revocation; a serial stays until a list after the end of its certificate', async (t) => {
  const { folder, issuers } = await twoIssuers(t);
  const clock = new FakeClock(now() * 1000);
  const store = await openSqliteStore(join(folder, 'signet.db'), { clock });
  t.teardown(() => store.close());
  const { certificates } = store;
  const signed = await signOrder(
    { issuers, certificates, clock, randomBytes: () => Buffer.alloc(12, 9) },
    { ...order(), defaultSeconds: 100_000 },
  );
  const revocations = await openLiveRevocations({ certificates, clock, refreshIntervalMs: 3_600_000, onError: fail });
  t.teardown(() => revocations.close());
  const crls = createCrlPublisher({ issuers, revocations, certificates, clock, lifetimeSeconds: 86_400 });
  const first = await crls.current();
  t.is(await crls.current(), first);
  t.is(crls.freshness(), 1);
  clock.advance(43_200_000);
  t.is(crls.freshness(), 0.5);
  await crls.renew();
  t.is(crls.freshness(), 1);
  const second = await crls.current();
  t.deepEqual([second.number - first.number, second.nextUpdate - first.nextUpdate], [43_200, 43_200]);
  t.true(await revoke(store, signed.serial, { reason: 'superseded', at: epochSeconds(clock), by: 'test' }));
  await revocations.refresh();
  t.true(revocations.has(signed.serial));
  const serials = async () => {
    writeFileSync(join(folder, 'list.pem'), await (await crls.current()).pem());
    return (await openssl(folder, 'crl', '-in', 'list.pem', '-noout', '-text')).output.match(/Serial Number: \w+/g);
  };
  t.deepEqual(await serials(), [`Serial Number: ${signed.serial.toUpperCase()}`]);
  clock.advance(50_000_000);
  t.is((await serials())?.length, 1, 'it has not ended');
  clock.advance(70_000_000);
  await revocations.refresh();
  t.is((await serials())?.length, 1, 'it stands on one list that was issued after its end (RFC 5280 §3.3)');
  clock.advance(50_000_000);
  t.is(await serials(), null);
});
