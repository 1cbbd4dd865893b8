import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, formatTimestamp } from '@signet/policy-engine/clock';
import {
  type DomainName,
  parseDomainName,
  parseKeyId,
  parsePathElement,
  parsePolicyName,
  parsePrincipalName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { DomainError } from '@signet/server/errors';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { changeDomain, type ManagementDeps } from '@signet/server/management/change-domain';
import { creation, deletion } from '@signet/server/management/create-domain';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import * as domainEdits from '@signet/server/management/edits/edit-domains';
import * as listEdits from '@signet/server/management/edits/edit-member-lists';
import * as policyEdits from '@signet/server/management/edits/edit-policies';
import * as serviceEdits from '@signet/server/management/edits/edit-services';
import { type DomainEdit, editing } from '@signet/server/management/judge-edit';
import { noDiff, unchanged, withList } from '@signet/server/model/domain-change';
import { jwkThumbprint } from '@signet/server/model/jwk-thumbprint';
import type { SigningKeyRecord } from '@signet/server/model/records';
import type { Store, StoreTransaction } from '@signet/server/model/store';
import type { LiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { type DomainSketch, domainContent } from './domains.ts';
import { saveDomain } from './save-domain.ts';

/* Changes at random, of few names, so that they hit each other: every edit of the management API, and every method of a transaction. */

export interface RandomWorld {
  readonly store: Store;
  readonly live: LiveSnapshot;
  readonly clock: Clock;
  readonly random: (below: number) => number;
  /** An empty folder. */
  readonly folder: string;
}

const operator = parsePrincipalName('sys.auth.operator');
const members = ['a.x', 'a.y', 'b.x', 'user.u', '*', 'a.*', 'b.x*', 'a:group.g', 'b:group.h'];
const pems = [1, 2].map(() =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' }).toString(),
);
const many = 1000;
const quotas = {
  roles: many,
  members: many,
  groups: many,
  policies: many,
  assertions: many,
  services: many,
  keys: many,
};
const instance = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('a'),
  service: parseServiceName('x'),
  instanceId: parsePathElement('i-1'),
};

/** The domain that lets the operator do what these changes do. */
export const systemDomain = domainContent('sys.auth', {
  roles: { admin: [operator] },
  services: ['operator'],
  rules: ['allow * * admin'],
});

class Choice {
  readonly #world: RandomWorld;

  constructor(world: RandomWorld) {
    this.#world = world;
  }

  get now(): number {
    return this.#world.clock.now();
  }

  of<Item>(...items: readonly [Item, ...Item[]]): Item {
    return items[this.#world.random(items.length)] as Item;
  }

  some<Item>(items: readonly Item[]): Item[] {
    return items.filter(() => this.#world.random(3) === 0);
  }

  get domain(): DomainName {
    return parseDomainName(this.of('a', 'b', 'c'));
  }

  get list(): listEdits.MemberList {
    return this.of<listEdits.MemberList>(
      listEdits.parseMemberList('role', this.domain, this.of('p', 'q')),
      listEdits.parseMemberList('group', this.domain, this.of('g', 'h')),
    );
  }

  get member(): string {
    return this.of('a.x', ...members);
  }

  get policy(): policyEdits.PolicyPath {
    return { domain: this.domain, name: parsePolicyName(this.of('rules', 'more')) };
  }

  get service(): serviceEdits.ServicePath {
    return { domain: this.domain, name: parseServiceName(this.of('x', 'y')) };
  }

  get assertion() {
    return this.of(
      { action: this.of('read', 'write'), resource: 'thing', role: 'p' },
      { action: 'assume_role', resource: 'b:role.q', role: 'p', effect: this.of('ALLOW', 'DENY') },
      { action: 'see', resource: '*', role: 'q', caseSensitive: true },
    );
  }

  get serial(): string {
    return String(10 + this.#world.random(20));
  }

  get otherSerial(): string {
    return String(50 + this.#world.random(4));
  }

  get when(): string {
    return formatTimestamp(this.now + this.of(-1, 1, 1) * 60_000);
  }

  get sketch(): DomainSketch {
    return {
      enabled: this.of(true, true, true, false),
      roles: {
        p: this.some(members),
        q: this.of([{ name: 'a.x', expires: this.now + 5 }], { trust: 'b' }),
        admin: [operator],
      },
      groups: { g: this.some(['a.x', 'b.x', 'user.u']), h: [] },
      rules: this.some(['allow read thing p', 'deny write thing q', 'allow assume_role b:role.q p']),
      services: ['x', { name: 'y', enabled: this.of(true, false) }],
    };
  }
}

type EditNames<Edits> = {
  [Name in keyof Edits]: Edits[Name] extends (...rest: never[]) => DomainEdit ? Name : never;
}[keyof Edits];
type EditName =
  | EditNames<typeof domainEdits>
  | EditNames<typeof listEdits>
  | EditNames<typeof policyEdits>
  | EditNames<typeof serviceEdits>;

/** Every edit there is: one that is new does not compile before it is here. */
const edits = {
  putDomain: (any) =>
    domainEdits.putDomain(any.domain, { enabled: any.of(true, true, false), description: any.of('one', 'two') }),
  putLimits: (any) => domainEdits.putLimits(any.domain, any.of({}, { tokenExpirySeconds: any.of(60, 90) })),
  putQuotas: (any) => domainEdits.putQuotas(any.domain, any.of({}, { members: any.of(900, 950) }), quotas),
  putAccount: (any) => domainEdits.putAccount(any.domain, { account: any.of('012345678901', '111111111111') }),
  deleteAccount: (any) => domainEdits.deleteAccount(any.domain),
  putList: (any) =>
    listEdits.putList(any.list, { members: any.some(members), ...any.of({}, { description: any.of('one', 'two') }) }),
  deleteList: (any) => listEdits.deleteList(any.list),
  putMember: (any) =>
    listEdits.putMember(
      any.list,
      any.member,
      any.of({}, { disabled: true }, { expires: any.when }, { review: any.when }),
    ),
  deleteMember: (any) => listEdits.deleteMember(any.list, any.member),
  putPolicy: (any) => policyEdits.putPolicy(any.policy, [any.assertion, any.assertion]),
  deletePolicy: (any) => policyEdits.deletePolicy(any.policy),
  putVersion: (any) => policyEdits.putVersion(any.policy, any.of('0', '1'), [any.assertion]),
  deleteVersion: (any) => policyEdits.deleteVersion(any.policy, any.of('0', '1')),
  putActive: (any) => policyEdits.putActive(any.policy, { version: any.of('0', '1', null) }),
  addAssertion: (any) => policyEdits.addAssertion(any.policy, any.of('0', '1'), any.assertion),
  deleteAssertion: (any, ids) => policyEdits.deleteAssertion(any.policy, any.of('0', '1'), any.of(0, ...ids)),
  putService: (any) =>
    serviceEdits.putService(any.service, { enabled: any.of(true, true, false), hosts: any.some(['h.example']) }),
  deleteService: (any) => serviceEdits.deleteService(any.service),
  putKey: (any) => serviceEdits.putKey(any.service, parseKeyId(any.of('0', '1')), { pem: any.of(pems[0], pems[1]) }),
  deleteKey: (any) => serviceEdits.deleteKey(any.service, parseKeyId(any.of('0', '1'))),
} satisfies Record<EditName, (any: Choice, ids: readonly number[]) => DomainEdit>;

/** Keys whose ids are their thumbprints, as a snapshot requires it. */
const kids = ['k1', 'k2', 'k3', 'k4'].map((x) => jwkThumbprint({ kty: 'EC', crv: 'P-256', x, y: 'y' }));
const [k1 = '', k2 = '', k3 = '', k4 = ''] = kids;

function signingKey(kid: string): SigningKeyRecord {
  const publicJwk = {
    kty: 'EC',
    kid,
    alg: 'ES256',
    use: 'sig',
    crv: 'P-256',
    x: `k${kids.indexOf(kid) + 1}`,
    y: 'y',
    purpose: 'token',
  } as const;
  return { kid, purpose: 'token', algorithm: 'ES256', publicJwk, createdAt: 1, activateAt: 9_000_000_000_000 };
}

const revocation = { reason: 'superseded', at: 1, by: 'test' } as const;

/** Every method of a transaction; one that is new does not compile before it is here. */
const methods = {
  whole: (any, change) => saveDomain(change, domainContent(any.domain, any.sketch)),
  save: async (any, change) => {
    const { domain } = any;
    const stored = await change.attributes(domain);
    const [entry] = await change.entries(domain, [any.member]);
    const fields = entry && (await change.list(entry.list));
    if (stored === undefined || entry === undefined || fields === undefined) return;
    const members = { ...noDiff, removed: [entry.member] };
    const after = { ...fields, description: any.of('old', 'new') };
    const list = any.of({ after: fields, members }, { after, members }, { after, members: noDiff });
    await change.save(withList(unchanged(stored), entry.list.kind, { before: fields, ...list }));
  },
  deleteDomain: (any, change) => change.deleteDomain(any.domain),
  addSigningKey: (any, change) => change.addSigningKey(signingKey(any.of(k1, k2, k3, k4))),
  sealSigningKey: (any, change) =>
    change.sealSigningKey(any.of(k1, k2, k3), { sealingKey: any.of('one', 'two'), text: any.of('a', 'b') }),
  activateSigningKey: (any, change) => change.activateSigningKey(any.of(k1, k2, k3), any.now),
  markKeyCompromised: (any, change) => change.markKeyCompromised(any.of(k1, k2, k3), any.now),
  recordCertificate: async (any, change) => {
    const principal = parsePrincipalName('user.anna');
    const record = { serial: any.otherSerial, fingerprint: 'f', principal, details: { kind: 'user' } };
    // A certificate that was revoked before is not recorded.
    await change.recordCertificate(record).catch(() => undefined);
  },
  revokeCertificate: (any, change) => change.revokeCertificate(any.otherSerial, revocation),
  revokeInstance: (_any, change) => change.revokeInstance(instance, revocation),
  removeInstance: (_any, change) => change.removeInstance(instance, revocation),
  recordForeignRefresh: (_any, change) => change.recordForeignRefresh(instance, '0f'),
  noteRefusedCredentials: (_any, change) => change.noteRefusedCredentials({ expired: 1 }),
  state: 'reads',
  acceptClock: (_, change) => change.acceptClock(),
  newEpoch: (any, change) => change.newEpoch(any.of(0, 3)),
  source: 'reads',
  domain: 'reads',
  attributes: 'reads',
  assertionCounts: 'reads',
  isUnchanged: 'reads',
  rowsRead: 'reads',
  listNames: 'reads',
  list: 'reads',
  entries: 'reads',
  policies: 'reads',
  services: 'reads',
  counts: 'reads',
  policyBytes: 'reads',
  memberPage: 'reads',
  serviceNames: 'reads',
  switchedOff: 'reads',
  delegatedKeys: 'reads',
  domainsTrusting: 'reads',
  domainsWithMember: 'reads',
  groupsWithMember: 'reads',
  memberships: 'reads',
  membersOf: 'reads',
  formHolder: 'reads',
  endedNames: 'reads',
  isRevoked: 'reads',
  protectedRoles: 'reads',
  protectedAmong: 'reads',
  request: 'reads',
  requests: 'reads',
  openRequests: 'reads',
  certificateAskedBy: 'reads',
  addRequest: (any, change) =>
    change.addRequest({
      state: 'open',
      author: parsePrincipalName('user.anna'),
      created: any.now,
      expires: any.now + 1000,
      domains: [any.domain],
      needed: 1,
      content: { kind: 'role', domain: any.domain, role: parseRoleName('reader'), seconds: 60 },
      approvals: [],
    }),
  saveRequest: async (_, change) => {
    const [found] = await change.requests({ limit: 1, now: 0 });
    if (found !== undefined)
      await change.saveRequest({ ...found, state: 'withdrawn' }, { action: 'withdraw', by: { actor: operator } });
  },
  domainNames: 'reads',
  signingKeys: 'reads',
  sealedKeys: 'reads',
  liveSshCertificates: 'reads',
} satisfies Record<
  keyof StoreTransaction | 'whole',
  'reads' | ((any: Choice, change: StoreTransaction) => Promise<unknown>)
>;

type Change = (world: RandomWorld) => Promise<unknown>;

function throughStore(method: (any: Choice, change: StoreTransaction) => Promise<unknown>): Change {
  return (world) => world.store.change({ actor: 'test' }, (change) => method(new Choice(world), change));
}

function managing({ store, live, clock }: RandomWorld): ManagementDeps {
  const refresh = () => live.refresh();
  const dryRuns: ManagementDeps['dryRuns'] = {
    run: () => Promise.reject(new Error('no dry run here')),
    findImpact: () => Promise.reject(new Error('no dry run here')),
    runDocuments: () => Promise.reject(new Error('no dry run here')),
    runRequest: () => Promise.reject(new Error('no dry run here')),
    close: () => Promise.resolve(),
  };
  return {
    store,
    snapshot: () => live.current(),
    snapshotAt: live.at,
    refresh,
    changed: refresh,
    clock,
    quotas,
    dryRuns,
  };
}

const request = {
  caller: operator,
  context: { actor: operator },
  mustBeNew: false,
  dryRun: false,
  allowWildcard: true,
  removeMemberships: true,
  reuseName: true,
};

function throughManagement(make: (any: Choice, ids: readonly number[]) => DomainEdit): Change {
  return async (world) => {
    const stored = await world.store.domain(new Choice(world).domain);
    const ids = stored?.policies.flatMap(({ assertions }) => assertions.map(({ id }) => id)) ?? [];
    return changeDomain(managing(world), request, editing(make(new Choice(world), ids)));
  };
}

/** Every change by its name. Some are refused, as what they are about is not there: they throw a `DomainError`. */
export const randomChanges: ReadonlyMap<string, Change> = new Map<string, Change>([
  ...Object.entries(edits).map(([name, make]): [string, Change] => [name, throughManagement(make)]),
  ...Object.entries(methods).flatMap(([name, method]): [string, Change][] =>
    method === 'reads' ? [] : [[name, throughStore(method)]],
  ),
  [
    'createDomain',
    (world) => {
      const name = new Choice(world).domain;
      return changeDomain(
        managing(world),
        request,
        creation(domainEdits.readNewDomain({ domain: name, admins: [operator] })),
      );
    },
  ],
  [
    'deleteDomain through management',
    (world) => changeDomain(managing(world), request, deletion(new Choice(world).domain)),
  ],
  ['applyDocuments', (world) => applySome(world)],
  ['certificates', (world) => issueSome(world)],
]);

const maxTries = 6;

/** Makes the change of that name, again when it is refused, as mostly what it is about is not there. */
export async function tryChange(world: RandomWorld, name: string, tries = 1): Promise<void> {
  try {
    await randomChanges.get(name)?.(world);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if (tries < maxTries) await tryChange(world, name, tries + 1);
  }
}

/** Issues a certificate of an instance, and one of a principal that is not a service here. */
async function issueSome(world: RandomWorld): Promise<void> {
  const { certificates, instances } = world.store;
  const { serial, otherSerial } = new Choice(world);
  const row = { issuer: 'i', subject: 'a.x', notBefore: 0, notAfter: 9_000_000_000 };
  const holder = parsePrincipalName('user.u');
  await certificates.intend({ ...row, kind: 'service', serial: otherSerial, holder }, 1);
  await certificates.intend({ ...row, kind: 'instance', serial, ...instance, holder: parsePrincipalName('a.x') }, 1);
  const given = { serial, fingerprint: 'f', notAfter: row.notAfter, sshAllowed: false };
  await instances.register(instance, given, { clientOnly: false, sshAllowed: false, at: 1 });
}

async function applySome(world: RandomWorld): Promise<unknown> {
  const any = new Choice(world);
  const documents = join(world.folder, 'documents');
  mkdirSync(documents);
  try {
    for (const name of any.some(['a', 'b'])) {
      const domain = {
        domain: name,
        roles: { p: { members: any.some(['user.u', 'user.v']) } },
        services: { x: {}, y: {} },
      };
      writeFileSync(join(documents, `${name}.yaml`), JSON.stringify(domain));
    }
    return await applyDocuments(world.store, readDocumentFolder(documents), request.context, {
      now: any.now,
      removeMemberships: true,
      reuseName: true,
    });
  } finally {
    rmSync(documents, { recursive: true });
  }
}
