import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BundleAnswer, SignetClientError } from '@signet/client';
import { buildBundle, PolicyEngineError, signBundle, staticKeys } from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import { checkBundle, localKeys } from '@signet/updater/check-bundle';
import { nodeFileSystem } from '@signet/updater/files/file-system';
import { PolicyDirectory } from '@signet/updater/files/policy-directory';
import { State } from '@signet/updater/state';
import { outcomeOf, updateDomain } from '@signet/updater/update-domain';
import { UpdaterError } from '@signet/updater/updater-errors';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';
import { makeSigningKey } from './support/world.ts';

/* Update of one domain against a server in memory: the requests, accepted answers, and the name of each failure. */

const domain = parseDomainName('catalog');
const signing = makeSigningKey('k');
const stranger = makeSigningKey('k');
const life = 400_000;

interface Made {
  version?: number;
  issued?: number;
  entity?: string;
  by?: typeof signing;
}

async function world(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const clock = new FakeClock();
  const directory = new PolicyDirectory(folder, nodeFileSystem, undefined);
  const state = await State.load(directory);
  const keys = staticKeys({ keys: [signing.jwk] });
  const asked: unknown[] = [];
  const server: { answer: () => Promise<BundleAnswer> } = { answer: () => Promise.reject(new Error('not told')) };
  const fetch = (_: unknown, more: object) => {
    asked.push(more);
    return server.answer();
  };
  const common = { directory, state, maxBundleBytes: 1 << 20 };
  const deps = { ...common, bundles: { fetch }, keys: Object.assign(keys, { known: keys }), clock };
  const make = async ({ version = 1, issued = clock.now(), entity = 'x', by = signing }: Made = {}) => {
    const assertions = [{ effect: 'ALLOW' as const, role: 'r', action: 'read', resource: entity }];
    const policies = [{ name: 'catalog:policy.p', modified: '', assertions }];
    const times = { modified: issued, issued, expires: issued + life };
    return Buffer.from(
      JSON.stringify(await signBundle(buildBundle({ domain, epoch: 1, version, ...times, policies }), by)),
    );
  };
  const update = (answer: BundleAnswer | Error, signal?: AbortSignal) => {
    server.answer = () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer));
    return updateDomain(deps, domain, signal);
  };
  const put = (bytes: Uint8Array | string) => writeFileSync(join(folder, 'catalog.pol'), bytes);
  const changed = (bytes: Buffer, etag?: string): BundleAnswer =>
    ({ kind: 'changed', bytes, ...(etag !== undefined && { etag }) }) as BundleAnswer;
  const check = () => checkBundle({ ...common, keys }, domain, clock.now());
  return { folder, clock, directory, state, asked, make, update, put, changed, check };
}

test('a new bundle is written, the same one is not, and its tag is asked with until the last quarter of its life', async (t) => {
  const { clock, asked, make, update, changed } = await world(t);
  const bytes = await make();
  t.like(await update(changed(bytes, '"1"')), { kind: 'updated', bundle: { version: 1 } });
  t.like(await update(changed(bytes, '"1"')), { kind: 'unchanged' });
  clock.advance(life * 0.75 - 1);
  t.like(await update({ kind: 'unchanged' } as BundleAnswer), { kind: 'unchanged', bundle: { version: 1 } });
  clock.advance(1);
  await update(changed(await make({ version: 2 }), '"2"'));
  t.deepEqual(asked, [{}, { etag: '"1"' }, { etag: '"1"' }, {}]);
});

test('nothing is unchanged where there was nothing', async (t) => {
  const { update } = await world(t);
  t.like(await update({ kind: 'unchanged' } as BundleAnswer), { kind: 'rejected', reason: 'response-malformed' });
});

test('a file of somebody else is not asked about by its tag, and does not raise the floor', async (t) => {
  const { asked, make, update, put, changed } = await world(t);
  await update(changed(await make({ version: 5 }), '"5"'));
  for (const bytes of [
    await make({ version: 4 }),
    await make({ version: 5, entity: 'y' }),
    await make({ version: 9, by: stranger }),
    'none',
  ]) {
    put(bytes);
    await update(new SignetClientError('unreachable', ''));
  }
  t.deepEqual(asked.slice(1), [{}, {}, {}, {}]);
  put(await make({ version: 7 }));
  t.like(await update(changed(await make({ version: 6 }))), { kind: 'rejected', reason: 'bundle-rollback' });
  put(await make({ version: 9, by: stranger }));
  t.like(await update(changed(await make({ version: 6 }))), { kind: 'updated' });
});

test('a file that is too large is replaced, a link is left alone', async (t) => {
  const { make, update, put, changed, directory } = await world(t);
  put('x'.repeat((1 << 20) + 1));
  t.like(await update(changed(await make())), { kind: 'updated' });
  const read = directory.read.bind(directory);
  directory.read = () => Promise.reject(new UpdaterError('unsafe-file', 'odd'));
  t.deepEqual(await update(changed(await make())), { kind: 'unsafe', message: 'odd' });
  directory.read = read;
  directory.checkFile = () => Promise.reject(new UpdaterError('unsafe-file', 'a link'));
  t.deepEqual(await update(changed(await make())), { kind: 'unsafe', message: 'a link' });
});

test('what is on disk is checked as the engine does', async (t) => {
  const { clock, make, update, put, changed, check } = await world(t);
  t.like(await check(), { state: 'missing' });
  await update(changed(await make({ version: 5 })));
  t.like(await check(), { state: 'good', version: 5, epoch: 1, kid: 'k' });
  put(await make({ version: 4 }));
  t.like(await check(), { state: 'bad', reason: 'bundle-rollback' });
  put(await make({ version: 6, by: stranger }));
  t.like(await check(), { state: 'bad', reason: 'bundle-signature' });
  put(await make({ version: 4 }));
  clock.advance(life - 1);
  t.like(await check(), { state: 'bad' });
  clock.advance(1);
  t.like(await check(), { state: 'expired', version: 4 });
});

test('only the keys of the file are local', async (t) => {
  const { folder, directory } = await world(t);
  t.is(await (await localKeys(directory)).find('k', 'bundle'), undefined);
  const write = (keys: unknown[]) => writeFileSync(join(folder, 'keys.json'), JSON.stringify({ issuer: 'i', keys }));
  write([signing.jwk]);
  t.not(await (await localKeys(directory)).find('k', 'bundle'), undefined);
  write([{ kty: 'OKP', kid: 'odd' }, signing.jwk, { ...signing.jwk, x: 'AA' }]);
  t.is(await (await localKeys(directory)).find('k', 'bundle'), undefined);
});

const refused = (code: 'refused' | 'server-error') =>
  new SignetClientError(code, 'm', { answer: { status: 503, retryAfterSeconds: 7 } });
const outcomes: [error: Error, outcome: object][] = [
  [new PolicyEngineError('bundle-rollback', 'm'), { kind: 'rejected', reason: 'bundle-rollback', message: 'm' }],
  [new UpdaterError('storage', 'm'), { kind: 'not-stored', message: 'm' }],
  [new UpdaterError('unsafe-file', 'm'), { kind: 'unsafe', message: 'm' }],
  [refused('refused'), { kind: 'refused', status: 503, message: 'm', retryAfterSeconds: 7 }],
  [refused('server-error'), { kind: 'refused', status: 503, message: 'm', retryAfterSeconds: 7 }],
  ...(['redirected', 'response-too-large', 'response-malformed'] as const).map((code): [Error, object] => [
    new SignetClientError(code, 'm'),
    { kind: 'rejected', reason: code, message: 'm' },
  ]),
  ...(['unreachable', 'timed-out', 'tls', 'aborted', 'closed', 'invalid-identity'] as const).map(
    (code): [Error, object] => [new SignetClientError(code, 'm'), { kind: 'unreachable', reason: code, message: 'm' }],
  ),
];
test('what a failure means for the domain', (t) => {
  for (const [error, outcome] of outcomes) t.deepEqual<unknown, unknown>(outcomeOf(error), outcome, error.message);
  const bugs = [
    new TypeError('bug'),
    new UpdaterError('locked', 'm'),
    ...(['invalid-argument', 'invalid-cache', 'unknown-key'] as const).map((code) => new SignetClientError(code, 'm')),
  ];
  for (const bug of bugs)
    t.is(
      t.throws(() => outcomeOf(bug)),
      bug,
    );
});

test('what is on disk is not written again, and a request can be given up', async (t) => {
  const { asked, make, update, changed, directory } = await world(t);
  const bytes = await make();
  await update(changed(bytes));
  directory.write = () => Promise.reject(new UpdaterError('storage', 'written'));
  t.like(await update(changed(bytes)), { kind: 'unchanged' });
  t.like(await update(changed(await make({ version: 2 }))), { kind: 'not-stored', message: 'written' });
  const { signal } = new AbortController();
  await update(changed(bytes), signal);
  t.deepEqual(asked.slice(1), [{}, {}, { signal }]);
});

test('a fault of our own is no outcome and no state of a bundle', async (t) => {
  const { make, update, changed, check, directory } = await world(t);
  const bug = new TypeError('bug');
  directory.read = () => Promise.reject(bug);
  t.is(await t.throwsAsync(check()), bug);
  t.is(await t.throwsAsync(update(changed(await make()))), bug);
});
