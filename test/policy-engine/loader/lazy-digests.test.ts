import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyEngine } from '@signet/policy-engine';
import { type KnownFloor, staticKeys, verifyBundle } from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import { createTestAuthority, type TestBundleInput } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { internals } from '../../limits/row.ts';

/* The digest of a bundle is made when it is compared. What is refused is the same as if it had been made at once. */

const { Floors } = await internals<{
  Floors: new (
    folder: string,
  ) => {
    of(domain: string): KnownFloor | undefined;
    accept(domain: string, floor: KnownFloor, makeDigest?: () => Promise<string>): void;
    refresh(): Promise<void>;
    withDigest(domain: string): Promise<KnownFloor | undefined>;
  };
}>('policy-engine/src/loader/floors.ts');

const domain = parseDomainName('catalog');

/** Enough assertions for policies longer than a piece of the reader. */
const rules = Array.from({ length: 600 }, (_, index) => ({
  role: 'reader',
  action: 'read',
  resource: `a-resource-with-a-long-name.${index}`,
}));

/** Members of a floor in a file; undefined for one that is missing. */
type Otherwise = { readonly [Member in keyof KnownFloor]?: KnownFloor[Member] | undefined };

interface Made {
  readonly version: number;
  readonly count?: number;
  readonly isReversed?: boolean;
}

function bundleOf({ version, count = rules.length, isReversed = false }: Made): TestBundleInput {
  const some = rules.slice(0, count);
  return {
    domain,
    version,
    policies: [{ name: 'catalog:policy.p', assertions: isReversed ? some.reverse() : some }],
  };
}

async function world(t: ExecutionContext) {
  const authority = await createTestAuthority();
  const dir = temporaryFolder(t);
  const verified = async (made: Made) => {
    const text = JSON.stringify(await authority.bundle(bundleOf(made)));
    return verifyBundle(text, { domain, keys: staticKeys(authority.keys), now: authority.clock.now() });
  };
  return {
    authority,
    dir,
    verified,
    put: (made: Made) => authority.writeBundle(dir, bundleOf(made)),
    /** Floor as the updater remembers a bundle, with overrides. */
    async remember(made: Made, otherwise: Otherwise = {}) {
      const { epoch, version, digest, content } = await verified(made);
      const floor = { epoch, version, digest, content, ...otherwise };
      writeFileSync(join(dir, 'state.json'), JSON.stringify({ floors: { catalog: floor } }));
    },
    async open() {
      const engine = await PolicyEngine.open({ policyDir: dir, clock: authority.clock, watch: false });
      t.teardown(() => engine.close());
      return {
        engine,
        async look() {
          await engine.refresh();
          const [found] = engine.health().domains;
          return [found?.error?.code, found?.assertions];
        },
      };
    },
  };
}

test('what follows under the same version is compared with what was loaded before', async (t) => {
  const w = await world(t);
  await w.put({ version: 5 });
  const { look } = await w.open();
  await w.put({ version: 5, count: 599 });
  t.deepEqual(await look(), ['bundle-equivocation', 600]);
  await w.put({ version: 5, isReversed: true });
  t.deepEqual(await look(), [undefined, 600], 'the same policies in another order');
  await w.put({ version: 6, count: 599 });
  t.deepEqual(await look(), [undefined, 599]);
  await w.put({ version: 6 });
  t.deepEqual(await look(), ['bundle-equivocation', 599]);
  await w.put({ version: 6, count: 3 });
  t.deepEqual(await look(), ['bundle-equivocation', 599], 'a small one, whose content is not hashed');
  await w.put({ version: 7, count: 3 });
  t.deepEqual(await look(), [undefined, 3]);
  await w.put({ version: 7, count: 4 });
  t.deepEqual(await look(), ['bundle-equivocation', 3]);
});

test('a renewal with the same content is taken, and what follows is compared all the same', async (t) => {
  const w = await world(t);
  await w.put({ version: 5 });
  const { look } = await w.open();
  for (let renewals = 0; renewals < 2; renewals += 1) {
    w.authority.clock.advance(1000);
    await w.put({ version: 5 });
    t.deepEqual(await look(), [undefined, 600]);
  }
  await w.put({ version: 5, count: 599 });
  t.deepEqual(await look(), ['bundle-equivocation', 600]);
});

const remembered: [note: string, otherwise: Otherwise, code: string | undefined][] = [
  ['its content', {}, undefined],
  ['no content, as by an earlier updater', { content: undefined }, undefined],
  ['another content', { content: 'other' }, undefined],
  ['another digest', { digest: 'policies-1:other', content: 'other' }, 'bundle-equivocation'],
  ['another digest without content', { digest: 'policies-1:other', content: undefined }, 'bundle-equivocation'],
  ['a content without a digest', { digest: undefined }, undefined],
  ['a digest of another form', { digest: 'policies-2:other' }, undefined],
];
for (const [note, otherwise, code] of remembered) {
  test(`a bundle that the updater remembers with ${note}`, async (t) => {
    const w = await world(t);
    await w.put({ version: 5 });
    await w.remember({ version: 5 }, otherwise);
    const { look } = await w.open();
    t.deepEqual(await look(), code === undefined ? [undefined, 600] : [code, undefined]);
    if (code !== undefined) return;
    await w.put({ version: 5, count: 599 });
    t.deepEqual(await look(), ['bundle-equivocation', 600]);
  });
}

test('a file says nothing of the policies of a bundle that was loaded', async (t) => {
  const w = await world(t);
  await w.put({ version: 5 });
  const { look } = await w.open();
  const other = await w.verified({ version: 5, count: 599 });
  await w.remember({ version: 5 }, { digest: other.digest, content: other.content });
  t.deepEqual(await look(), [undefined, 600]);
  await w.put({ version: 5, count: 599 });
  t.deepEqual(await look(), ['bundle-equivocation', 600]);
});

test('a bundle that was removed does not come back with other policies under its version', async (t) => {
  const w = await world(t);
  await w.put({ version: 5 });
  const { look } = await w.open();
  rmSync(join(w.dir, 'catalog.pol'));
  t.deepEqual(await look(), [undefined, undefined]);
  await w.put({ version: 5, count: 599 });
  t.deepEqual(await look(), ['bundle-equivocation', undefined]);
  await w.put({ version: 5, isReversed: true });
  t.deepEqual(await look(), [undefined, 600]);
});

test('the digest of a floor is made once, when it is asked for, and not for a bundle that is gone', async (t) => {
  const floors = new Floors(temporaryFolder(t));
  let made = 0;
  const makeDigest = async () => `policies-1:${++made}`;
  t.is(await floors.withDigest(domain), undefined);
  floors.accept(domain, { epoch: 1, version: 1, content: 'a' }, makeDigest);
  floors.accept(domain, { epoch: 1, version: 2, content: 'b' }, makeDigest);
  t.is(made, 0);
  t.deepEqual(await floors.withDigest(domain), { epoch: 1, version: 2, content: 'b', digest: 'policies-1:1' });
  t.is((await floors.withDigest(domain))?.digest, 'policies-1:1');
  floors.accept(domain, { epoch: 1, version: 3 }, makeDigest);
  floors.accept(domain, { epoch: 1, version: 3, issued: 7, digest: 'policies-1:x', content: 'c' });
  t.deepEqual(floors.of(domain), { epoch: 1, version: 3, issued: 7 });
  floors.accept(domain, { epoch: 1, version: 4, digest: 'policies-1:y' });
  t.deepEqual(await floors.withDigest(domain), { epoch: 1, version: 4, digest: 'policies-1:y' });
  t.is(made, 1);
  floors.accept(domain, { epoch: 1, version: 5, content: 'd' }, makeDigest);
  t.deepEqual(await floors.withDigest(domain), { epoch: 1, version: 5, content: 'd', digest: 'policies-1:2' });
});

test('of a renewal only the newest bundle is kept', async (t) => {
  const floors = new Floors(temporaryFolder(t));
  floors.accept(domain, { epoch: 1, version: 1, content: 'a' }, async () => 'policies-1:first');
  floors.accept(domain, { epoch: 1, version: 1, issued: 7, content: 'a' }, async () => 'policies-1:renewal');
  t.deepEqual(await floors.withDigest(domain), {
    epoch: 1,
    version: 1,
    issued: 7,
    content: 'a',
    digest: 'policies-1:renewal',
  });
});
