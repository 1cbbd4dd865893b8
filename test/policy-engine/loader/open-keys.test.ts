import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PolicyEngineError } from '@signet/policy-engine';
import type { KeySource } from '@signet/policy-engine/bundle';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { internals } from '../../limits/row.ts';

/* Sources of keys, and the name of each problem with one. */

const { openKeys } = await internals<{
  openKeys(keys: unknown, clock: TestClock): Promise<{ source: KeySource; close(): void }>;
}>('policy-engine/src/loader/open-keys.ts');
const { fetchWithTls } = await internals<{
  fetchWithTls(tls: object): (url: string, init: object) => Promise<unknown>;
}>('policy-engine/src/loader/tls-fetch.ts');
const { systemCode } = await internals<{ systemCode(error: unknown): string }>('policy-engine/src/loader/read-file.ts');

const clock = new TestClock();
const authority = await createTestAuthority({ clock });
const { keys: list } = authority;
const [{ kid } = { kid: '' }] = list.keys;
const text = JSON.stringify(list);

async function open(t: ExecutionContext, keys: unknown): Promise<KeySource> {
  const opened = await openKeys(keys, clock);
  t.teardown(() => opened.close());
  return opened.source;
}

test('a list, a source, and a file by its path or its address', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys.json');
  writeFileSync(file, text);
  const own = await open(t, list);
  for (const keys of [list, own, file, pathToFileURL(file), pathToFileURL(file).href]) {
    t.not(await (await open(t, keys)).find(kid, 'token'), undefined);
  }
  t.is(await open(t, own), own);
  // A letter and a colon are no scheme but a drive.
  const [drive, scheme] = ['c:none', 'cc:none'];
  await t.throwsAsync(openKeys(drive, clock), { code: 'keys-unavailable', message: /it does not exist$/ } as never);
  await t.throwsAsync(openKeys(scheme, clock), { code: 'invalid-options' } as never);
});

const bad: [note: string, place: (folder: string) => unknown, code: string, message: RegExp][] = [
  ['no file', (folder) => join(folder, 'none'), 'keys-unavailable', /none` cannot be had: it does not exist$/],
  ['a folder', (folder) => join(folder, 'folder'), 'keys-unavailable', /cannot be had: it is not a regular file$/],
  [
    'an address of another host',
    () => new URL('file://other/keys.json'),
    'invalid-options',
    /not an address of a local/,
  ],
  ['an address without TLS', () => 'http://localhost/keys', 'invalid-options', /is not `https:` address/],
  ['an address with a user', () => 'https://user@localhost/keys', 'invalid-options', /without a user$/],
  ['an address with a password', () => 'https://:secret@localhost/keys', 'invalid-options', /without a user$/],
  ['no address', () => 'https://', 'invalid-options', /without a user$/],
  ['an address without TLS, parsed', () => new URL('http://localhost/keys'), 'invalid-options', /is not `https:` add/],
];
for (const [note, place, code, message] of bad) {
  test(`keys that cannot be had: ${note}`, async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'folder'));
    await t.throwsAsync(openKeys(place(folder), clock), { instanceOf: PolicyEngineError, code, message } as never);
  });
}

/** Remote source, with the request that it made. */
function remote() {
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    return { status: 200, body: new Blob([text]).stream() };
  };
  return { asked, fetch, url: 'https://localhost/keys' };
}

test('a fetch of the caller is asked, and a file keeps what it answered', async (t) => {
  const cacheFile = join(temporaryFolder(t), 'kept.json');
  const { asked, fetch, url } = remote();
  t.not(await (await open(t, { url, fetch, cacheFile })).find(kid, 'token'), undefined);
  t.deepEqual(asked, [url]);
  t.is((await open(t, { url, fetch })).error, undefined, 'nothing is kept where nothing is to be');
  const down = () => Promise.reject(new Error('down'));
  t.not(await (await open(t, { url, fetch: down, cacheFile })).find(kid, 'token'), undefined, 'a restart');
  await t.throwsAsync(openKeys({ url, fetch: down }, clock), { code: 'keys-unavailable' } as never);
});

for (const [status, body] of [
  [200, null],
  [204, null],
  [404, '{}'],
  [500, text],
] as const) {
  test(`an answer ${status} ${body === null ? 'without' : 'with'} a body has no keys`, async (t) => {
    const fetch = async () => ({ status, body: body === null ? null : new Blob([body]).stream() });
    await t.throwsAsync(openKeys({ url: 'https://localhost/keys', fetch }, clock), {
      code: 'keys-unavailable',
      message: `keys of https://localhost/keys cannot be had: the answer has the status ${status}`,
    } as never);
  });
}

test('a store of the caller is used', async (t) => {
  const { fetch, url } = remote();
  const written: string[] = [];
  const store = { read: async () => undefined, write: async (kept: string) => void written.push(kept) };
  t.is((await open(t, { url, fetch, store })).error, undefined);
  t.is(written.length, 1);
});

for (const [one, other, options] of [
  ['tls', 'fetch', { tls: {}, fetch: remote().fetch }],
  ['cacheFile', 'store', { cacheFile: '/none/kept', store: { read: async () => text, write: async () => undefined } }],
] as const) {
  test(`${one} and ${other} are two ways of one thing`, async (t) => {
    await t.throwsAsync(openKeys({ url: 'https://localhost/keys', ...options }, clock), {
      code: 'invalid-options',
      message: `\`keys\` has both \`${one}\` and \`${other}\``,
    } as never);
  });
}

test('without authorities of its own, or with any, a fetch fails by the connection alone', async (t) => {
  const ask = (tls: object) =>
    fetchWithTls(tls)('https://127.0.0.1:1/', { headers: {}, signal: AbortSignal.timeout(60_000) });
  const { ca } = authority;
  for (const tls of [{}, { ca: ca.pem }, { ca: [ca.pem, ca.pem] }, { cert: ca.pem, key: ca.key }, () => ({})]) {
    await t.throwsAsync((async () => ask(tls))(), { code: 'ECONNREFUSED' } as never);
  }
});

test('the name of a fault of the file system', (t) => {
  t.is(systemCode(Object.assign(new Error('x'), { code: 'ENOSPC' })), 'ENOSPC');
  const others = [
    new Error('x'),
    Object.assign(new Error('x'), { code: 7 }),
    { code: 'ENOSPC' },
    'ENOSPC',
    null,
    undefined,
  ];
  for (const other of others) t.is(systemCode(other), 'failed');
});
