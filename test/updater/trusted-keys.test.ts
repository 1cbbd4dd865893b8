import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignetClientError } from '@signet/client';
import type { Jwk } from '@signet/policy-engine/wire';
import { nodeFileSystem } from '@signet/updater/files/file-system';
import { PolicyDirectory } from '@signet/updater/files/policy-directory';
import { TrustedKeys } from '@signet/updater/trusted-keys';
import { UpdaterError } from '@signet/updater/updater-errors';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';
import { makeSigningKey } from './support/world.ts';

/* When the updater asks for keys and for the issuer, and which answers it takes. */

/** Weak key, which is rejected. */
const weak: Jwk = { kty: 'RSA', kid: 'weak', alg: 'RS256', use: 'sig', n: 'AQAB', e: 'AQAB' };

const [one, two] = [makeSigningKey('one').jwk, makeSigningKey('two').jwk];

async function world(t: ExecutionContext, issuer?: string, file?: string) {
  const folder = temporaryFolder(t);
  if (file !== undefined) writeFileSync(join(folder, 'keys.json'), file);
  const clock = new FakeClock();
  const server: { keys: Jwk[] | Error; issuer: string | Error; maxAgeSeconds: number | undefined; asked: string[] } = {
    keys: [one],
    issuer: 'https://i',
    maxAgeSeconds: undefined,
    asked: [],
  };
  const signals: (AbortSignal | undefined)[] = [];
  const client = {
    keys: async (call: { signal?: AbortSignal }) => {
      signals.push(call.signal);
      server.asked.push('keys');
      if (server.keys instanceof Error) throw server.keys;
      return { keys: server.keys, maxAgeSeconds: server.maxAgeSeconds };
    },
    metadata: async () => {
      server.asked.push('issuer');
      if (server.issuer instanceof Error) throw server.issuer;
      return { issuer: server.issuer };
    },
  };
  const directory = new PolicyDirectory(folder, nodeFileSystem, undefined);
  const deps = { client: client as never, directory, clock, issuer };
  const asked = () => server.asked.splice(0);
  return {
    folder,
    signals,
    clock,
    server,
    asked,
    directory,
    load: () => TrustedKeys.load(deps),
    keys: await TrustedKeys.load(deps),
  };
}

const down = new SignetClientError('unreachable', 'down');

test('keys are fetched again when they are 50 seconds old, or as the server says, or after a failure', async (t) => {
  const { clock, server, asked, keys } = await world(t, 'https://own');
  await keys.refresh();
  await keys.refresh();
  clock.advance(49_999);
  await keys.refresh();
  t.deepEqual(asked(), ['keys']);
  clock.advance(1);
  server.maxAgeSeconds = 10;
  await keys.refresh();
  t.deepEqual(asked(), ['keys']);
  clock.advance(9999);
  await keys.refresh();
  t.deepEqual(asked(), []);
  clock.advance(1);
  server.keys = down;
  await keys.refresh();
  t.is(keys.problem, down);
  server.keys = [one];
  await keys.refresh();
  t.deepEqual(asked(), ['keys', 'keys']);
  t.is(keys.problem, undefined);
  // a clock that was set back does not make keys last
  clock.advance(-1);
  await keys.refresh();
  t.deepEqual(asked(), ['keys']);
});

test('an unknown key leads to one request in 30 seconds, a known one to none', async (t) => {
  const { clock, server, asked, keys } = await world(t, 'https://own');
  t.is(await keys.find('two', 'bundle'), undefined);
  t.deepEqual(asked(), ['keys'], 'never asked before');
  clock.advance(29_999);
  t.is(await keys.find('two', 'bundle'), undefined);
  t.not(await keys.find('one', 'bundle'), undefined);
  t.deepEqual(asked(), []);
  server.keys = [one, two];
  clock.advance(1);
  t.not(await keys.find('two', 'bundle'), undefined);
  t.deepEqual(asked(), ['keys']);
  clock.advance(-1);
  t.is(await keys.find('three', 'bundle'), undefined);
  t.deepEqual(asked(), ['keys'], 'a clock that was set back');
  t.is(await keys.known.find('three', 'bundle'), undefined);
  t.deepEqual(asked(), []);
});

test('the issuer is asked for by the hour, and the last one stays while the server does not say', async (t) => {
  const { clock, server, asked, keys } = await world(t);
  await keys.refresh();
  t.deepEqual(asked(), ['keys', 'issuer']);
  clock.advance(3_599_999);
  await keys.refresh();
  t.deepEqual(asked(), ['keys']);
  server.issuer = down;
  clock.advance(50_000);
  await keys.refresh();
  t.deepEqual(asked(), ['keys', 'issuer']);
  t.is(keys.problem, undefined);
  server.issuer = new TypeError('a bug');
  clock.advance(50_000);
  await t.throwsAsync(keys.refresh(), { message: 'a bug' });
  const first = await world(t);
  first.server.issuer = down;
  await first.keys.refresh();
  t.is(first.keys.problem, down);
});

test('a clock that was set back has the issuer asked for again', async (t) => {
  const { clock, asked, keys } = await world(t);
  await keys.refresh();
  clock.advance(-10);
  await keys.refresh();
  t.deepEqual(asked(), ['keys', 'issuer', 'keys', 'issuer']);
});

test('keys that share none are taken only where the file of the others is gone', async (t) => {
  const { folder, clock, server, keys, load } = await world(t, 'https://own');
  await keys.refresh();
  server.keys = [two];
  for (const each of [keys, await load()]) {
    clock.advance(60_000);
    await each.refresh();
    t.is(each.problem instanceof Error && 'code' in each.problem && each.problem.code, 'keys-replaced');
    t.deepEqual(each.facts.kids, ['one']);
  }
  rmSync(join(folder, 'keys.json'));
  await keys.refresh();
  t.is(keys.problem, undefined);
  t.deepEqual(keys.facts.kids, ['two']);
  server.keys = [];
  clock.advance(60_000);
  await keys.refresh();
  t.deepEqual([keys.facts.error, keys.facts.kids], ['the server publishes no usable key', ['two']]);
});

test('a request can be given up', async (t) => {
  const { clock, keys, signals } = await world(t);
  const { signal } = new AbortController();
  await keys.refresh(signal);
  clock.advance(30_000);
  await keys.find('x', 'bundle');
  t.deepEqual(signals, [signal, undefined]);
});

test('a file with keys that cannot be used counts as none, and one that can is used at once', async (t) => {
  const kept = { issuer: 'https://kept', keys: [one] };
  const used = await world(t, undefined, JSON.stringify(kept));
  t.not(await used.keys.known.find('one', 'bundle'), undefined);
  const given = await world(t, undefined, JSON.stringify({ ...kept, keys: [weak, { ...weak, kid: 'other' }] }));
  t.deepEqual(given.keys.facts.kids, []);
  await given.keys.refresh();
  t.deepEqual(given.keys.facts.kids, ['one']);
  const odd = await world(t, undefined, JSON.stringify({ ...kept, keys: [weak, one, { ...one, kid: 'one' }] }));
  t.deepEqual(odd.keys.facts.kids, ['one']);
  t.not(await odd.keys.known.find('one', 'bundle'), undefined);
});

test('a file is written only when its content changes, and a disk that fails is told', async (t) => {
  const { folder, clock, keys, directory } = await world(t, 'https://own');
  await keys.refresh();
  rmSync(join(folder, 'keys.json'));
  clock.advance(60_000);
  await keys.refresh();
  t.false(await directory.has('keys.json'));
  for (const [code, isTold] of [
    ['storage', true],
    ['unsafe-file', false],
  ] as const) {
    const { keys: failing, directory: broken } = await world(t, 'https://own');
    broken.write = () => Promise.reject(new UpdaterError(code, 'no'));
    if (isTold) {
      await failing.refresh();
      t.is(failing.problem?.message, 'no');
    } else await t.throwsAsync(failing.refresh(), { message: 'no' });
  }
});

test('without keys at hand nothing is written into a directory that came into the place of another', async (t) => {
  const { folder, keys } = await world(t, 'https://own');
  await keys.restore();
  t.deepEqual(readdirSync(folder), []);
  await keys.refresh();
  rmSync(join(folder, 'keys.json'));
  await keys.restore();
  t.true(existsSync(join(folder, 'keys.json')));
});

test('after an unknown key that could not be asked for, keys are fetched again though they are young', async (t) => {
  const { clock, server, asked, keys } = await world(t, 'https://own');
  await keys.refresh();
  clock.advance(30_000);
  server.keys = down;
  t.is(await keys.find('two', 'bundle'), undefined);
  t.is(keys.problem, down);
  server.keys = [one];
  t.deepEqual(asked(), ['keys', 'keys']);
  await keys.refresh();
  t.deepEqual(asked(), ['keys']);
  t.is(keys.problem, undefined);
  await keys.refresh();
  t.deepEqual(asked(), []);
});

test('the issuer lasts exactly an hour', async (t) => {
  const { clock, server, asked, keys } = await world(t);
  server.maxAgeSeconds = 0;
  await keys.refresh();
  await keys.refresh();
  t.deepEqual(asked(), ['keys', 'issuer', 'keys'], 'at the same instant');
  clock.advance(3_600_000 - 1);
  await keys.refresh();
  clock.advance(1);
  await keys.refresh();
  t.deepEqual(asked(), ['keys', 'keys', 'issuer']);
});

test('an issuer that came with keys that cannot be used is asked for again', async (t) => {
  const { folder, server, asked, keys } = await world(t);
  server.keys = [weak];
  await keys.refresh();
  t.not(keys.problem, undefined);
  server.keys = [one];
  await keys.refresh();
  t.deepEqual(asked(), ['keys', 'issuer', 'keys', 'issuer']);
  t.like(JSON.parse(readFileSync(join(folder, 'keys.json'), 'utf8')), { issuer: 'https://i' });
});
