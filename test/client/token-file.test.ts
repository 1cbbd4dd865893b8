import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { SignetClientError } from '@signet/client';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { internals } from '../limits/row.ts';

/* Token cache file: a malformed one is not used, and a file that others can access is left alone. */

interface TokenFile {
  read(now: number): Promise<ReadonlyMap<string, unknown>>;
  add(key: string, token: object, now: number): Promise<void>;
}
const { TokenFile } = await internals<{ TokenFile: new (path: string) => TokenFile }>(
  'client/src/tokens/token-file.ts',
);

const token = { accessToken: 'a', scope: ['d:role.r'], expiresAt: 2000 };
const entry = { lifetimeMs: 1000, token };
const read = { lifetimeMs: 1000, token: { ...token, tokenType: 'Bearer' } };

function written(t: ExecutionContext, text: string, mode = 0o600): string {
  const path = join(temporaryFolder(t), 'tokens.json');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

test('an entry is read back', async (t) => {
  const path = written(t, JSON.stringify({ version: 1, tokens: { k: entry } }));
  t.deepEqual([...(await new TokenFile(path).read(1000))], [['k', read]]);
});

test('an ID token is read back, and what is none is left out', async (t) => {
  const withId = (idToken: unknown) => ({ ...entry, token: { ...token, idToken } });
  const path = written(t, JSON.stringify({ version: 1, tokens: { k: withId('i'), n: withId(7) } }));
  const tokens = await new TokenFile(path).read(1000);
  t.deepEqual(tokens.get('k'), { ...read, token: { ...read.token, idToken: 'i' } });
  t.deepEqual(tokens.get('n'), read);
});

test('a file that cannot be looked at is not an empty one', async (t) => {
  const file = written(t, '{}');
  const error = { instanceOf: SignetClientError, code: 'invalid-cache', message: 'tokenCacheFile cannot be read' };
  await t.throwsAsync(new TokenFile(join(file, 'none')).read(1000), error);
});

const unused: [note: string, content: unknown][] = [
  ['null', null],
  ['a number', 7],
  ['a list', [entry]],
  ['no version', { tokens: { k: entry } }],
  ['another version', { version: 2, tokens: { k: entry } }],
  ['a version that is a string', { version: '1', tokens: { k: entry } }],
  ['no tokens', { version: 1 }],
  ['null for tokens', { version: 1, tokens: null }],
  ['a string for tokens', { version: 1, tokens: 'k' }],
];
for (const [note, content] of unused) {
  test(`a file with ${note} holds nothing`, async (t) => {
    t.is((await new TokenFile(written(t, JSON.stringify(content))).read(1000)).size, 0);
  });
}

test('what is not JSON holds nothing, nor does a file that is not there', async (t) => {
  t.is((await new TokenFile(written(t, '{"version":1,')).read(1000)).size, 0);
  t.is((await new TokenFile(join(temporaryFolder(t), 'none')).read(1000)).size, 0);
});

const bad: [note: string, entry: unknown][] = [
  ['null', null],
  ['a string', 'x'],
  ['no token', { lifetimeMs: 1000 }],
  ['null for a token', { lifetimeMs: 1000, token: null }],
  ['no life', { token }],
  ['a life that is a string', { ...entry, lifetimeMs: '1000' }],
  ['no end', { ...entry, token: { ...token, expiresAt: undefined } }],
  ['an end that is a string', { ...entry, token: { ...token, expiresAt: '2000' } }],
  ['no access token', { ...entry, token: { ...token, accessToken: undefined } }],
  ['an access token that is a number', { ...entry, token: { ...token, accessToken: 7 } }],
  ['a life of nought', { ...entry, lifetimeMs: 0 }],
  ['a life of nought that is over', { lifetimeMs: 0, token: { ...token, expiresAt: 1000 } }],
  ['a life of less than nought', { lifetimeMs: -100, token: { ...token, expiresAt: 900 } }],
  ['an end past its life', { ...entry, token: { ...token, expiresAt: 2001 } }],
  ['an end that is not an integer', { ...entry, token: { ...token, expiresAt: 1500.5 } }],
  ['a scope that is a string', { ...entry, token: { ...token, scope: 'd:role.r' } }],
  ['a scope with a number', { ...entry, token: { ...token, scope: ['d:role.r', 7] } }],
];
for (const [note, one] of bad) {
  test(`an entry with ${note} is left out, and the others stay`, async (t) => {
    const path = written(t, JSON.stringify({ version: 1, tokens: { bad: one, k: entry } }));
    t.deepEqual([...(await new TokenFile(path).read(1000)).keys()], ['k']);
  });
}

for (const mode of [0o640, 0o620, 0o610, 0o604, 0o602, 0o601]) {
  test(`a file of mode ${mode.toString(8)} is neither read nor replaced`, async (t) => {
    const text = JSON.stringify({ version: 1, tokens: {} });
    const path = written(t, text, mode);
    const error = { instanceOf: SignetClientError, code: 'invalid-cache' };
    await t.throwsAsync(new TokenFile(path).read(1000), error);
    await t.throwsAsync(new TokenFile(path).add('k', read, 1000), error);
    t.is(readFileSync(path, 'utf8'), text);
  });
}

test('a file of 16 MiB is read, one that is a byte larger is neither read nor replaced', async (t) => {
  const path = written(t, '');
  truncateSync(path, 16 << 20);
  t.is((await new TokenFile(path).read(1000)).size, 0);
  truncateSync(path, (16 << 20) + 1);
  const error = { instanceOf: SignetClientError, code: 'invalid-cache' };
  await t.throwsAsync(new TokenFile(path).read(1000), error);
  await t.throwsAsync(new TokenFile(path).add('k', read, 1000), error);
});

test('a link and a folder are neither read nor replaced', async (t) => {
  const target = written(t, JSON.stringify({ version: 1, tokens: { k: entry } }));
  const link = join(temporaryFolder(t), 'link');
  symlinkSync(target, link);
  const folder = join(temporaryFolder(t), 'folder');
  mkdirSync(folder, { mode: 0o700 });
  const plain = 'tokenCacheFile must be a plain file of this user with mode 0600';
  await t.throwsAsync(new TokenFile(folder).read(1000), { message: plain });
  for (const path of [link, folder]) {
    await t.throwsAsync(new TokenFile(path).read(1000), { instanceOf: SignetClientError, code: 'invalid-cache' });
    await t.throwsAsync(new TokenFile(path).add('k', read, 1000), {
      instanceOf: SignetClientError,
      code: 'invalid-cache',
    });
  }
  t.deepEqual(Object.keys(JSON.parse(readFileSync(target, 'utf8')).tokens), ['k']);
});

test.serial('a file of another user is neither read nor replaced', async (t) => {
  const path = written(t, JSON.stringify({ version: 1, tokens: { k: entry } }));
  const { getuid } = process;
  if (getuid === undefined) return t.pass();
  t.teardown(() => Object.assign(process, { getuid }));
  process.getuid = () => getuid() + 1;
  const error = { message: 'tokenCacheFile must be a plain file of this user with mode 0600' };
  await t.throwsAsync(new TokenFile(path).read(1000), error);
  Object.assign(process, { getuid: undefined });
  t.is((await new TokenFile(path).read(1000)).size, 1, 'where users have no numbers');
});

test('what is added is readable by its user alone, and what has ended goes', async (t) => {
  const path = join(temporaryFolder(t), 'tokens.json');
  const file = new TokenFile(path);
  await file.add('old', read, 1000);
  t.is(statSync(path).mode & 0o777, 0o600);
  await file.add('new', { ...read, token: { ...read.token, expiresAt: 3000 } }, 2000);
  t.deepEqual([...(await file.read(2000)).keys()], ['new']);
  t.true(existsSync(path));
});
