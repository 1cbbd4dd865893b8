import { X509Certificate } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkIdentity } from '@signet/client';
import { formatTimestamp } from '@signet/policy-engine/clock';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';
import { internals } from '../../limits/row.ts';
import { makePki } from '../support/pki.ts';

/* Identity in use: invalid ones are refused at the start, and leave the one in use alone. */

interface Source {
  certificate: string;
  key: string;
  caBundle: string;
}
const { readKeyPair, readAuthorities, readIdentitySync, identityStamp } = await internals<{
  readKeyPair(source: Source): Promise<{ subject: string }>;
  readAuthorities(source: Source): Promise<string>;
  readIdentitySync(source: Source): { subject: string };
  identityStamp(source: Source): Promise<string>;
}>('client/src/http/identity.ts');
interface Agents {
  readonly identity: { readonly certificate: string; readonly caBundle: string };
  readonly problem: { readonly message: string } | undefined;
  readonly server: object;
  readonly targets: object;
  refresh(): Promise<void>;
  close(): Promise<void>;
}
const { Agents } = await internals<{ Agents: new (options: object) => Agents }>('client/src/http/agents.ts');

test('an identity is read from texts and from files, and each part that is none is named', async (t) => {
  const folder = temporaryFolder(t);
  const pki = await makePki(folder);
  const [own, other] = [await pki.issue('media.player'), await pki.issue('media.viewer')];
  const texts = { certificate: own.cert, key: own.key, caBundle: pki.ca };
  const ca = join(folder, 'own-ca.pem');
  writeFileSync(ca, pki.ca);
  const files = { certificate: own.certFile, key: own.keyFile, caBundle: ca };
  for (const source of [texts, files]) {
    t.is(readIdentitySync(source).subject, 'CN=media.player');
    t.is((await readKeyPair(source)).subject, 'CN=media.player');
    t.is(await readAuthorities(source), pki.ca);
  }
  const broken: [change: Partial<Source>, message: string][] = [
    [{ certificate: '-----BEGIN X' }, 'certificate holds no certificate in PEM form'],
    [{ caBundle: '-----BEGIN X' }, 'caBundle holds no certificate in PEM form'],
    [{ key: '-----BEGIN X' }, 'key holds no private key in PEM form'],
    [{ key: other.key }, 'key is not the key of the certificate'],
    [{ certificate: join(folder, 'none') }, `certificate \`${join(folder, 'none')}\` does not exist`],
    [{ key: join(folder, 'none') }, `key \`${join(folder, 'none')}\` does not exist`],
    [{ caBundle: join(folder, 'none') }, `caBundle \`${join(folder, 'none')}\` does not exist`],
  ];
  for (const [change, message] of broken) {
    t.throws(() => readIdentitySync({ ...texts, ...change }), { message });
    const read = 'caBundle' in change ? readAuthorities : readKeyPair;
    await t.throwsAsync(read({ ...texts, ...change }), { message });
  }
  t.is(await identityStamp(texts), '  ');
  t.regex(await identityStamp(files), /^(?:\d+:\d+:\d+:\d+:\d+ ?){3}$/);
  t.is(await identityStamp({ ...texts, key: join(folder, 'none') }), ' missing ');
});

test('a certificate that has expired is not sent, and the error says when it ended', async (t) => {
  const folder = temporaryFolder(t);
  const pki = await makePki(folder);
  const own = await pki.issue('media.player');
  const source = { certificate: own.cert, key: own.key, caBundle: pki.ca };
  const ends = new X509Certificate(own.cert).validToDate.getTime();
  const expired = {
    code: 'invalid-identity',
    message: `the client certificate of \`CN=media.player\` expired at ${formatTimestamp(ends)}: renew it, with \`signet identity once\` for an instance, \`signet identity issue\` or \`signet login\` for a person`,
  } as const;
  t.notThrows(() => checkIdentity(source, ends));
  t.throws(() => checkIdentity(source, ends + 1), expired as never);
  t.throws(() => checkIdentity({ ...source, key: 'none' }, ends), { message: 'key `none` does not exist' });
  const clock = new FakeClock(ends);
  const times = { connectTimeoutMs: 1000, readTimeoutMs: 1000, reloadIntervalMs: 1000, maxConnections: 1 };
  const agents = new Agents({ source, clock, ...times, isServer: () => undefined });
  t.truthy(agents.server);
  clock.advance(1);
  t.throws(() => agents.server, expired as never);
  t.throws(() => agents.targets, expired as never);
  clock.advance(-1);
  t.truthy(agents.targets);
  await agents.close();
});

test('changed files are taken up when it is time to look, and half of them are not', async (t) => {
  const folder = temporaryFolder(t);
  const pki = await makePki(folder);
  const [own, next] = [await pki.issue('media.player'), await pki.issue('media.player')];
  const source = { certificate: join(folder, 'c'), key: join(folder, 'k'), caBundle: join(folder, 'a') };
  const write = (identity: { cert: string; key: string }) => {
    writeFileSync(source.certificate, identity.cert);
    writeFileSync(source.key, identity.key);
    writeFileSync(source.caBundle, pki.ca);
  };
  write(own);
  const clock = new FakeClock();
  const times = { connectTimeoutMs: 1000, readTimeoutMs: 1000, reloadIntervalMs: 1000, maxConnections: 1 };
  const agents = new Agents({ source, clock, ...times, isServer: () => undefined });
  const pool = agents.server;
  await agents.refresh();
  t.is(agents.server, pool, 'the same files make no new pool');
  write(next);
  clock.advance(999);
  await agents.refresh();
  t.is(agents.identity.certificate, own.cert);
  clock.advance(1);
  await agents.refresh();
  t.is(agents.identity.certificate, next.cert);
  t.not(agents.server, pool);

  writeFileSync(source.key, own.key);
  clock.advance(1000);
  await agents.refresh();
  t.is(agents.identity.certificate, next.cert);
  t.is(agents.problem?.message, 'key is not the key of the certificate');
  rmSync(source.key);
  clock.advance(1000);
  await agents.refresh();
  t.is(agents.problem?.message, `key \`${source.key}\` does not exist`);
  write(own);
  // a clock that was set back does not put the look off
  clock.advance(-5000);
  await agents.refresh();
  t.is(agents.identity.certificate, own.cert);
  t.is(agents.problem, undefined);

  const kept = agents.server;
  writeFileSync(source.key, `${own.key}\n`);
  clock.advance(1000);
  await agents.refresh();
  t.not(agents.server, kept, 'another text of the key is another identity');
  const before = agents.server;
  writeFileSync(source.caBundle, `${pki.ca}\n`);
  clock.advance(1000);
  await agents.refresh();
  t.not(agents.server, before, 'other authorities are another identity');
  await agents.close();
  await agents.close();
  t.throws(() => agents.server, { message: 'the client is closed' });
});

test('authorities and the own pair do not wait for each other', async (t) => {
  const folder = temporaryFolder(t);
  const [pki, nextPki] = [await makePki(folder), await makePki(temporaryFolder(t))];
  const [own, next] = [await pki.issue('media.player'), await pki.issue('media.player')];
  const source = { certificate: join(folder, 'c'), key: join(folder, 'k'), caBundle: join(folder, 'a') };
  writeFileSync(source.certificate, own.cert);
  writeFileSync(source.key, own.key);
  writeFileSync(source.caBundle, pki.ca + nextPki.ca);
  const clock = new FakeClock();
  const times = { connectTimeoutMs: 1000, readTimeoutMs: 1000, reloadIntervalMs: 1000, maxConnections: 1 };
  const agents = new Agents({ source, clock, ...times, isServer: () => undefined });
  const look = () => {
    clock.advance(1000);
    return agents.refresh();
  };
  await agents.refresh();
  const before = agents.server;

  // Half of a renewal, and an authority that is taken out.
  writeFileSync(source.certificate, next.cert);
  writeFileSync(source.caBundle, nextPki.ca);
  await look();
  t.like(agents.identity, { certificate: own.cert, caBundle: nextPki.ca });
  t.not(agents.server, before, 'connections that the old authorities vouched for serve nothing new');
  t.is(agents.problem?.message, 'key is not the key of the certificate');
  const kept = agents.server;
  await look();
  t.is(agents.server, kept);

  // The other half, and authorities that cannot be read.
  writeFileSync(source.key, next.key);
  writeFileSync(source.caBundle, '');
  await look();
  t.like(agents.identity, { certificate: next.cert, caBundle: nextPki.ca });
  t.is(agents.problem?.message, `caBundle \`${source.caBundle}\` is empty`);
  rmSync(source.key);
  await look();
  t.like(agents.identity, { certificate: next.cert, caBundle: nextPki.ca });
  t.is(agents.problem?.message, `key \`${source.key}\` does not exist`);

  writeFileSync(source.key, next.key);
  writeFileSync(source.caBundle, pki.ca);
  await look();
  t.like(agents.identity, { certificate: next.cert, caBundle: pki.ca });
  t.is(agents.problem, undefined);
  await agents.close();
});
