import { generateKeyPairSync } from 'node:crypto';
import {
  parseDomainName,
  parseGroupName,
  parseKeyId,
  parsePathElement,
  parsePolicyName,
  parsePrincipalName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { ConflictError, DomainError, StoreUnavailableError } from '@signet/server/errors';
import { emptyDomain } from '@signet/server/model/empty-domain';
import type { DomainContent, SigningKeyRecord } from '@signet/server/model/records';
import type { GapKind, Store, StoreChanges, StoreState } from '@signet/server/model/store';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { publishNextCrl } from '#support/crl-store';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { spendJoinToken } from '#support/spend-join-token';
import { changesAfter, contentsOf } from '#support/store-contents';

/** A store that is new and empty, and a clock that it uses. Closed by the suite. */
export type OpenEmptyStore = (t: ExecutionContext, clock: FakeClock) => Promise<Store>;

const by = { actor: 'sys.auth.operator', reason: 'a reason', requestId: 'r-1', certificateSerial: '0a' };
const catalog = parseDomainName('catalog');
/** More rules than one statement writes. */
const manyRules = Array.from({ length: 1100 }, (_, index) => `r${index}`).join(' ');
const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .publicKey.export({ type: 'spki', format: 'pem' })
  .toString();

/** A domain that uses every column. */
const full: DomainContent = {
  name: catalog,
  enabled: true,
  requireReason: false,
  description: 'all there is',
  limits: { tokenExpirySeconds: 1, serviceCertExpirySeconds: 2, roleCertExpirySeconds: 3 },
  accounts: { aws: '012345678901' },
  roles: [
    {
      name: parseRoleName('reader'),
      description: 'reads',
      tokenExpirySeconds: 60,
      certExpirySeconds: 120,
      members: [
        { name: '*', disabled: true },
        { name: 'media.player', disabled: false, expires: 4_102_444_800_123, review: 4_102_444_800_124 },
      ],
    },
    { name: parseRoleName('viewer'), trust: parseDomainName('partner'), members: [] },
  ],
  groups: [
    { name: parseGroupName('staff'), description: 'people', members: [{ name: 'media.player', disabled: false }] },
  ],
  policies: [
    {
      name: parsePolicyName('movies'),
      version: '1',
      active: false,
      description: 'older',
      caseSensitive: false,
      assertions: [],
    },
    {
      name: parsePolicyName('movies'),
      version: '2',
      active: true,
      caseSensitive: true,
      assertions: [
        { effect: 'DENY', role: 'catalog:role.*', action: 'write', resource: 'catalog:movie', caseSensitive: true },
        {
          effect: 'ALLOW',
          role: 'catalog:role.reader',
          action: 'read',
          resource: 'catalog:movie',
          caseSensitive: false,
          conditions: { conditionsList: [{ conditionsMap: { instance: { operator: 'EQUALS', value: 'h' } } }] },
        },
      ],
    },
  ],
  services: [
    {
      name: parseServiceName('api'),
      description: 'answers',
      enabled: false,
      endpoint: 'https://catalog.example:4443/instance',
      hosts: ['z.example', 'a.example'],
      publicKeys: [{ id: parseKeyId('0'), pem }],
    },
  ],
};

function signingKey(kid: string): SigningKeyRecord {
  const publicJwk = {
    kty: 'EC',
    kid,
    alg: 'ES256',
    use: 'sig',
    crv: 'P-256',
    x: 'x',
    y: 'y',
    purpose: 'token',
  } as const;
  return { kid, purpose: 'token', algorithm: 'ES256', publicJwk, createdAt: 1, activateAt: 2 };
}

/** Suite for every store. One call for each kind of store. */
export function storeSuite(kind: string, open: OpenEmptyStore): void {
  const check = (note: string, run: (t: ExecutionContext, store: Store, clock: FakeClock) => Promise<void>) =>
    test(`${kind}: ${note}`, async (t) => {
      const clock = new FakeClock();
      const store = await open(t, clock);
      try {
        await run(t, store, clock);
      } finally {
        await store.close();
      }
    });
  const save = (store: Store, content: DomainContent) => store.change(by, (change) => saveDomain(change, content));

  check('everything shows each domain as it is read alone', async (t, store) => {
    const members = [
      { name: '*', disabled: true },
      { name: 'a.x', disabled: false, review: 7 },
      { name: 'a.y', disabled: false },
      { name: 'b.x', disabled: false, expires: 9 },
      { name: 'b.y', disabled: false },
    ];
    const lists = ['all', 'first', 'none', 'other'].map((name) => ({ name, members: name === 'none' ? [] : members }));
    const domainOf = (name: string, ofRoles: typeof lists) => ({
      ...emptyDomain(parseDomainName(name)),
      roles: ofRoles.map((list) => ({ ...list, name: parseRoleName(list.name) })),
      groups: lists.slice(2).map((list) => ({ ...list, name: parseGroupName(list.name) })),
    });
    const many = Array.from({ length: 9000 }, (_, at) => `b.s${at % 2 === 0 ? '-' : '_'}${at}`).sort();
    const large = [{ name: 'large', members: many.map((name) => ({ name, disabled: false })) }];
    const wanted = [domainOf('large', large), domainOf('one', lists), domainOf('other', lists)];
    await store.change(by, async (change) => {
      for (const content of [full, ...wanted]) await saveDomain(change, content);
    });
    const { domains } = await contentsOf(store);
    const alone = await Promise.all(domains.map(({ name }) => store.domain(name)));
    t.deepEqual(domains as readonly unknown[], alone);
    t.deepEqual(
      domains[2]?.groups.map((group) => group.members),
      [[], members],
    );
  });

  check('a view is one instant, whatever is changed meanwhile', async (t, store) => {
    await save(store, domainContent('first'));
    const before = await store.state();
    await store.view(async (reader) => {
      t.is(await reader.domain(catalog), undefined);
      await save(store, full);
      await store.change(by, (change) => change.deleteDomain(parseDomainName('first')));
      t.is(await reader.domain(catalog), undefined, 'the same question has the same answer');
      t.truthy(await reader.domain(parseDomainName('first')));
      t.deepEqual(reader.state(), before);
      t.true(await reader.isUnchanged(parseDomainName('first'), before));
      t.deepEqual(await reader.policies(catalog), []);
    });
    t.truthy(await store.domain(catalog));
  });

  check('a new store is empty', async (t, store) => {
    t.like(await store.state(), { epoch: 1, counter: 0 });
    t.deepEqual(await contentsOf(store), {
      state: { epoch: 1, counter: 0, head: '' },
      domains: [],
      deleted: [],
      signingKeys: [],
    });
    t.is(await store.domain(catalog), undefined);
  });

  check('a domain comes back as it was saved', async (t, store, clock) => {
    t.deepEqual(await save(store, full), { kind: 'created', version: 1 });
    const domain = await store.domain(catalog);
    const policies = full.policies.map((policy) => ({
      ...policy,
      modified: clock.now(),
      assertions: policy.assertions.map((assertion, index) => ({ ...assertion, id: index + 1 })),
    }));
    t.deepEqual(domain, { ...full, policyVersion: 1, policyModified: clock.now(), dnsForm: 'catalog', policies });
    t.deepEqual(await store.domainNames(), [catalog]);
    const members = [...full.roles, ...full.groups].flatMap((list) => list.members);
    t.is(await store.memberCount(), members.length);
  });

  check('saving the same again changes nothing', async (t, store, clock) => {
    await save(store, full);
    const before = await contentsOf(store);
    clock.advance(1000);
    t.deepEqual(await save(store, full), { kind: 'unchanged', version: 1 });
    t.deepEqual(await contentsOf(store), before);
    t.is((await store.audit({ limit: 10 })).length, 1);
  });

  const edits: readonly [string, (domain: DomainContent) => DomainContent][] = [
    ['the description', (domain) => ({ ...domain, description: 'other' })],
    ['the flag', (domain) => ({ ...domain, enabled: false })],
    ['a limit', (domain) => ({ ...domain, limits: { tokenExpirySeconds: 9 } })],
    ['the account', (domain) => ({ ...domain, accounts: {} })],
    ['a role taken away', (domain) => ({ ...domain, roles: domain.roles.slice(1) })],
    [
      'a role of another kind',
      (domain) => ({ ...domain, roles: domain.roles.map((role) => ({ ...role, tokenExpirySeconds: 7 })) }),
    ],
    [
      'the members',
      (domain) => ({
        ...domain,
        roles: domain.roles.map((role) => ({ ...role, members: [{ name: 'a.b', disabled: false }] })),
      }),
    ],
    [
      'a member',
      (domain) => ({
        ...domain,
        roles: domain.roles.map((role) => ({
          ...role,
          members: role.members.map((m) => ({ ...m, disabled: !m.disabled })),
        })),
      }),
    ],
    ['a group removed', (domain) => ({ ...domain, groups: [] })],
    [
      'the members of a group',
      (domain) => ({ ...domain, groups: domain.groups.map((group) => ({ ...group, members: [] })) }),
    ],
    [
      'the description of a policy',
      (domain) => ({ ...domain, policies: domain.policies.map((policy) => ({ ...policy, description: 'other' })) }),
    ],
    ['a service removed', (domain) => ({ ...domain, services: [] })],
    [
      'a service',
      (domain) => ({ ...domain, services: domain.services.map((service) => ({ ...service, enabled: true })) }),
    ],
    [
      'the order of the hosts',
      (domain) => ({ ...domain, services: domain.services.map((s) => ({ ...s, hosts: s.hosts.toReversed() })) }),
    ],
    [
      'the keys',
      (domain) => ({ ...domain, services: domain.services.map((service) => ({ ...service, publicKeys: [] })) }),
    ],
  ];
  const policyEdits: typeof edits = [
    ['a policy removed', (domain) => ({ ...domain, policies: domain.policies.slice(1) })],
    [
      'the active version',
      (domain) => ({ ...domain, policies: domain.policies.map((policy) => ({ ...policy, active: !policy.active })) }),
    ],
    [
      'the order of the rules',
      (domain) => ({
        ...domain,
        policies: domain.policies.map((p) => ({ ...p, assertions: p.assertions.toReversed() })),
      }),
    ],
    [
      'the case of a policy',
      (domain) => ({ ...domain, policies: domain.policies.map((p) => ({ ...p, caseSensitive: !p.caseSensitive })) }),
    ],
  ];
  const cases = [...edits.map((edit) => [...edit, 1] as const), ...policyEdits.map((edit) => [...edit, 2] as const)];
  for (const [what, edit, version] of cases) {
    check(`one change, and policy version ${version}: ${what}`, async (t, store, clock) => {
      await save(store, full);
      const saved = clock.now();
      clock.advance(5);
      const content = edit(full);
      t.deepEqual(await save(store, content), { kind: 'changed', version });
      t.like(await store.state(), { epoch: 1, counter: 2 });
      t.deepEqual(await save(store, content), { kind: 'unchanged', version });
      const domain = await store.domain(catalog);
      t.like(domain, {
        policyVersion: version,
        policyModified: version === 1 ? saved : clock.now(),
        enabled: content.enabled,
        roles: content.roles,
        groups: content.groups,
      });
      t.deepEqual(domain?.services, content.services);
      t.is((await store.audit({ subject: 'catalog', limit: 10 })).length, 2);
      // And back again: nothing of the other content is left.
      await save(store, full);
      t.deepEqual((await store.domain(catalog))?.roles, full.roles);
      t.deepEqual((await store.domain(catalog))?.services, full.services);
    });
  }

  check('a rule that stays keeps its id, a new one gets a new one', async (t, store) => {
    await save(
      store,
      domainContent('catalog', { roles: { reader: [] }, rules: ['allow read a reader', 'allow read b reader'] }),
    );
    const ids = async () => {
      const rules = (await store.domain(catalog))?.policies[0]?.assertions ?? [];
      return new Map(rules.map(({ resource, id }) => [resource, id]));
    };
    const before = await ids();
    await save(
      store,
      domainContent('catalog', { roles: { reader: [] }, rules: ['allow read b reader', 'allow read c reader'] }),
    );
    const after = await ids();
    t.is(after.get('catalog:b'), before.get('catalog:b'));
    t.false([...before.values()].includes(after.get('catalog:c') ?? 0));
  });

  const ruleEdits: readonly (readonly [what: string, was: string, is: string, newOnes: number])[] = [
    ['one more at the end', 'a b c', 'a b c d', 1],
    ['one more in front', 'a b c', 'd a b c', 1],
    ['one less in the middle', 'a b c', 'a c', 0],
    ['all gone', 'a b c', '', 0],
    ['another order', 'a b c', 'c a b', 0],
    ['the same twice, then once', 'a a b a', 'a b', 0],
    ['the same once, then twice', 'a b', 'a a b', 1],
    ['more than fit in one statement', manyRules, `x ${manyRules} y`, 2],
    ['many of them gone', manyRules, 'r7 r3', 0],
  ];
  for (const [what, was, is, newOnes] of ruleEdits) {
    check(`rules stand in their order, and those that stay keep their ids: ${what}`, async (t, store) => {
      const write = async (text: string) => {
        const rules = text.split(' ').filter((name) => name !== '');
        await save(
          store,
          domainContent('catalog', { roles: { reader: [] }, rules: rules.map((name) => `allow read ${name} reader`) }),
        );
        const found = (await store.domain(catalog))?.policies[0]?.assertions ?? [];
        t.deepEqual(
          found.map(({ resource }) => resource),
          rules.map((name) => `catalog:${name}`),
        );
        return found.map(({ resource, id }) => `${resource} ${id}`);
      };
      const before = await write(was);
      const after = await write(is);
      t.is(new Set(after).size, after.length);
      t.is(after.filter((rule) => !before.includes(rule)).length, newOnes);
    });
  }

  check('deleting keeps the version, so that it never falls', async (t, store) => {
    await save(store, full);
    const known = await store.state();
    t.true(await store.change(by, (change) => change.deleteDomain(catalog)));
    t.false(await store.change(by, (change) => change.deleteDomain(catalog)));
    t.is(await store.domain(catalog), undefined);
    t.deepEqual(await store.domainNames(), []);
    t.like(await store.changesSince(known), { state: { epoch: 1, counter: 2 }, domains: [], deleted: [catalog] });
    const gone = await store.state();
    t.deepEqual(await save(store, domainContent('catalog')), { kind: 'created', version: 3 });
    t.deepEqual((await store.domain(catalog))?.roles, []);
    t.deepEqual((await changesAfter(store, gone))?.deleted, []);
  });

  check('only what changed after a state is answered', async (t, store) => {
    await save(store, domainContent('a'));
    const known = await store.state();
    await save(store, domainContent('b', { enabled: false }));
    await save(store, domainContent('c'));
    const names = (changes?: StoreChanges) => changes?.domains.map((domain) => domain.name as string);
    t.deepEqual(names(await contentsOf(store)), ['a', 'b', 'c']);
    t.deepEqual(names(await changesAfter(store, known)), ['b', 'c']);
    t.deepEqual(names(await changesAfter(store, await store.state())), []);
  });

  const strange: readonly [string, GapKind, (known: StoreState) => StoreState][] = [
    ['a later epoch', 'divergence', (known) => ({ ...known, epoch: 2 })],
    ['an earlier epoch', 'restart', (known) => ({ ...known, epoch: 0 })],
    ['a counter that is yet to come', 'divergence', (known) => ({ ...known, counter: 3 })],
    ['another history under the same counter', 'divergence', (known) => ({ ...known, head: 'f'.repeat(64) })],
    [
      'another history under an earlier counter',
      'divergence',
      (known) => ({ ...known, counter: 1, head: 'f'.repeat(64) }),
    ],
    ['before the first change', 'distance', () => ({ epoch: 1, counter: 0, head: '' })],
  ];
  for (const [note, gap, change] of strange) {
    check(`who was in a state of ${note} is told why nobody follows from there`, async (t, store) => {
      await save(store, domainContent('a'));
      await save(store, domainContent('b'));
      const state = await store.state();
      t.deepEqual(await store.changesSince(change(state), () => true), { gap, state });
      t.false(await store.view((reader) => reader.isUnchanged(parseDomainName('a'), change(state))));
    });
  }

  check('a new epoch: nobody follows into it, its audit record says so, and changes go on', async (t, store) => {
    await save(store, domainContent('a'));
    const before = await store.state();
    t.is(await store.change(by, (change) => change.newEpoch()), 2);
    const begun = await store.state();
    t.like(begun, { epoch: 2, counter: 2 });
    t.deepEqual(await store.changesSince(before), { gap: 'restart', state: begun });
    t.deepEqual((await changesAfter(store, begun))?.since, begun);
    const [record] = await store.audit({ limit: 1 });
    t.like(record, { action: 'new-epoch', subject: 'store', actor: by.actor, reason: by.reason });
    t.deepEqual(JSON.parse(record?.before ?? ''), { epoch: 1 });
    t.deepEqual(JSON.parse(record?.after ?? ''), { epoch: 2, joinTokensSpent: 0 });
    await save(store, domainContent('b'));
    const changes = await changesAfter(store, begun);
    t.deepEqual(
      changes?.domains.map(({ name }) => String(name)),
      ['b'],
    );
    t.is(await store.change(by, (change) => change.newEpoch(7)), 8, 'one that somebody has seen is passed');
    t.is(await store.change(by, (change) => change.newEpoch(3)), 9);
    t.is((await store.verifyAudit()).fault, undefined);
  });

  check('a new epoch gives up what may have been forgotten: join tokens and revocation lists', async (t, store) => {
    const key = {
      provider: parsePrincipalName('sys.auth.server'),
      domain: parseDomainName('media'),
      service: parseServiceName('player'),
      instanceId: parsePathElement('i-1'),
    };
    const end = 4_102_444_800;
    await store.instances.addJoinToken('open', { ...key, expires: end, createdBy: parsePrincipalName('media.admin') });
    const first = await publishNextCrl(store.certificates, 'issuer');
    await store.change(by, (change) => change.newEpoch());
    t.false(await spendJoinToken(store, 'open', key, 1));
    const list = await store.certificates.lastCrl('issuer');
    t.deepEqual([list?.number, list?.der], [first + 1_000_000, undefined]);
    const [record] = await store.audit({ limit: 1 });
    t.is(JSON.parse(record?.after ?? '').joinTokensSpent, 1);
    await store.instances.addJoinToken('later', { ...key, expires: end, createdBy: parsePrincipalName('media.admin') });
    t.true(await spendJoinToken(store, 'later', key, 1));
  });

  check('of servers that begin a new epoch at once, each but one finds it begun', async (t, store) => {
    await save(store, domainContent('a'));
    const begun = await Promise.all(
      Array.from({ length: 4 }, () =>
        store.change(by, (change) => (change.state().epoch > 1 ? Promise.resolve(undefined) : change.newEpoch(1))),
      ),
    );
    t.deepEqual(
      begun.filter((epoch) => epoch !== undefined),
      [2],
    );
    t.like(await store.state(), { epoch: 2, counter: 2 });
  });

  check('more domains than one query asks for', async (t, store) => {
    const names = Array.from({ length: 450 }, (_, index) => `d${String(index).padStart(3, '0')}`);
    await store.change(by, async (change) => {
      for (const name of names) await saveDomain(change, domainContent(name, { roles: { r: [`${name}.s`] } }));
    });
    const { domains, state } = await contentsOf(store);
    t.like(state, { epoch: 1, counter: 1 });
    t.deepEqual(
      domains.map((domain) => domain.roles[0]?.members[0]?.name),
      names.map((name) => `${name}.s`),
    );
  });

  check('more members than one statement takes', async (t, store) => {
    const members = Array.from({ length: 2500 }, (_, index) => `media.s${String(index).padStart(4, '0')}`);
    await save(store, domainContent('catalog', { roles: { reader: members } }));
    t.is((await store.domain(catalog))?.roles[0]?.members.length, 2500);
    await save(store, domainContent('catalog', { roles: { reader: members.slice(2400) } }));
    t.is((await store.domain(catalog))?.roles[0]?.members.length, 100);
  });

  check('the audit log says who, when, what, why', async (t, store, clock) => {
    await save(store, domainContent('catalog', { roles: { reader: ['media.player', 'media.studio'] } }));
    clock.advance(5);
    await save(store, domainContent('catalog', { roles: { reader: ['media.player', 'media.guest'] } }));
    const [last] = await store.audit({ subject: 'catalog', limit: 1 });
    if (last === undefined) return t.fail('no audit record');
    const { before, after, id, ...rest } = last;
    t.true(id > 0);
    t.deepEqual(rest, { ...by, at: clock.now(), action: 'change', subject: 'catalog', version: 1 });
    const reader = (name: string) => ({ roles: [{ name: 'reader', members: [{ name, disabled: false }] }] });
    t.deepEqual(JSON.parse(before ?? ''), reader('media.studio'));
    t.deepEqual(JSON.parse(after ?? ''), reader('media.guest'));
  });

  check('a transaction that throws leaves nothing behind', async (t, store) => {
    await save(store, full);
    const before = await contentsOf(store);
    const fault = new Error('stop');
    const attempt = store.change(by, async (change) => {
      await saveDomain(change, domainContent('catalog'));
      await saveDomain(change, domainContent('other'));
      await change.addSigningKey(signingKey('k'));
      throw fault;
    });
    t.is(await t.throwsAsync(attempt), fault);
    t.deepEqual(await contentsOf(store), before);
    t.is((await store.audit({ limit: 10 })).length, 1);
  });

  check('nobody sees a change before it ends', async (t, store) => {
    await save(store, full);
    await store.change(by, async (change) => {
      await saveDomain(change, domainContent('catalog'));
      t.is((await change.domain(catalog))?.roles.length, 0);
      t.is((await store.domain(catalog))?.roles.length, 2);
      t.like(await store.state(), { epoch: 1, counter: 1 });
    });
    t.is((await store.domain(catalog))?.roles.length, 0);
  });

  check('changes at the same time follow each other', async (t, store) => {
    const writes = Array.from({ length: 20 }, (_, index) =>
      save(store, domainContent('catalog', { roles: { reader: [] }, rules: [`allow read m${index} reader`] })),
    );
    const versions = (await Promise.all(writes)).map((outcome) => outcome.version);
    t.deepEqual(
      versions.toSorted((a, b) => a - b),
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    t.like(await store.state(), { epoch: 1, counter: 20 });
  });

  check('signing keys', async (t, store) => {
    await store.change(by, (change) => change.addSigningKey(signingKey('k1')));
    await store.change(by, (change) => change.addSigningKey({ ...signingKey('k2'), purpose: 'bundle', activateAt: 1 }));
    t.deepEqual(await store.signingKeys(), [
      { ...signingKey('k2'), purpose: 'bundle', activateAt: 1 },
      signingKey('k1'),
    ]);
    t.deepEqual((await changesAfter(store, await store.state()))?.signingKeys, await store.signingKeys());
    await t.throwsAsync(
      store.change(by, (change) => change.addSigningKey(signingKey('k1'))),
      { instanceOf: ConflictError },
    );
    t.like(await store.state(), { epoch: 1, counter: 2 });
    t.true(await store.change(by, (change) => change.markKeyCompromised('k1', 77)));
    t.true(await store.change(by, (change) => change.markKeyCompromised('k1', 99)));
    t.false(await store.change(by, (change) => change.markKeyCompromised('k3', 99)));
    t.is((await store.signingKeys())[1]?.compromisedAt, 77);
    t.like(await store.state(), { epoch: 1, counter: 3 });
  });

  check('sealed private halves stay with their keys, and in the store', async (t, store) => {
    const half = (text: string, sealingKey = 's1') => ({ sealingKey, text });
    await store.change(by, (change) => change.addSigningKey(signingKey('k1'), half('one')));
    await store.change(by, (change) => change.addSigningKey(signingKey('k2')));
    t.deepEqual(await store.sealedKeys(), new Map([['k1', half('one')]]));
    t.deepEqual(await store.signingKeys(), [signingKey('k1'), signingKey('k2')]);
    const fault = new Error('stop');
    const attempt = store.change(by, async (change) => {
      t.true(await change.sealSigningKey('k2', half('two')));
      t.deepEqual(
        await change.sealedKeys(),
        new Map([
          ['k1', half('one')],
          ['k2', half('two')],
        ]),
      );
      throw fault;
    });
    t.is(await t.throwsAsync(attempt), fault);
    t.deepEqual(await store.sealedKeys(), new Map([['k1', half('one')]]));

    const before = await store.state();
    t.true(await store.change(by, (change) => change.sealSigningKey('k1', half('other', 's2'))));
    t.false(await store.change(by, (change) => change.sealSigningKey('k3', half('other'))));
    t.deepEqual(await store.sealedKeys(), new Map([['k1', half('other', 's2')]]));
    t.is((await store.state()).counter, before.counter + 1);
    t.deepEqual((await changesAfter(store, before))?.signingKeys, [signingKey('k1'), signingKey('k2')]);
    t.like((await store.audit({ limit: 1 }))[0], {
      action: 'seal-signing-key',
      subject: 'k1',
      before: '{"sealingKey":"s1"}',
      after: '{"sealingKey":"s2"}',
    });

    t.true(await store.change(by, (change) => change.markKeyCompromised('k1', 77)));
    t.deepEqual(await store.sealedKeys(), new Map());
    t.false(await store.change(by, (change) => change.sealSigningKey('k1', half('again'))));
    t.deepEqual(await store.sealedKeys(), new Map());
    const log = JSON.stringify(await store.audit({ limit: 100 }));
    t.false(['one', 'two', 'other', 'again'].some((text) => log.includes(text)));
  });

  const hostile = [
    `'; drop table domains; --`,
    '%',
    '_',
    '\\',
    '"',
    '`; select 1',
    '\u{1f512}\u{10ffff}',
    'line\nbreak\ttab\rreturn',
    '\u202e\u0007',
    "$1 ? :name @p { } ' '' \" ",
    'x'.repeat(1000),
  ];
  for (const text of hostile) {
    const note = JSON.stringify(text.slice(0, 30));
    check(`text is only text: ${note}`, async (t, store) => {
      const content: DomainContent = {
        ...full,
        description: text,
        accounts: { aws: text },
        roles: full.roles.map((role) => ({ ...role, description: text, members: [{ name: text, disabled: false }] })),
        groups: full.groups.map((group) => ({
          ...group,
          description: text,
          members: [{ name: text, disabled: false }],
        })),
        policies: [
          {
            name: parsePolicyName('p'),
            version: text,
            active: true,
            description: text,
            caseSensitive: false,
            assertions: [{ effect: 'ALLOW', role: text, action: text, resource: text, caseSensitive: false }],
          },
        ],
        services: [
          {
            name: parseServiceName('s'),
            description: text,
            enabled: true,
            endpoint: text,
            hosts: [text],
            publicKeys: [{ id: parseKeyId('0'), pem: text }],
          },
        ],
      };
      const context = { actor: text, reason: text, requestId: text, certificateSerial: text };
      await store.change(context, (change) => saveDomain(change, content));
      const domain = await store.domain(catalog);
      const { policies: _, ...others } = content;
      t.like(domain, others);
      t.like(domain?.policies[0]?.assertions[0], { role: text, action: text, resource: text });
      t.is(domain?.policies[0]?.version, text);
      t.like((await store.audit({ limit: 1 }))[0], context);
      t.deepEqual(await store.audit({ subject: text, limit: 10 }), []);
      t.deepEqual(await store.change(by, (change) => saveDomain(change, content)), { kind: 'unchanged', version: 1 });
      await store.change(by, (change) => change.deleteDomain(catalog));
      t.false(await store.change(by, (change) => change.markKeyCompromised(text, 1)));
    });
  }

  check('a closed store says so', async (t, store) => {
    await store.close();
    const error = await t.throwsAsync(store.state(), { instanceOf: StoreUnavailableError });
    t.true(error instanceof DomainError);
    await t.throwsAsync(save(store, full), { instanceOf: StoreUnavailableError });
  });
}
