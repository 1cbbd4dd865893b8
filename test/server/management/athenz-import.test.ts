import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { InvalidRequestError } from '@signet/server/errors';
import { formatNotice } from '@signet/server/management/athenz/findings';
import { importDomain } from '@signet/server/management/athenz/import-domain';
import { parseZmsKeys } from '@signet/server/management/athenz/verify-export';
import { checkDocuments } from '@signet/server/management/check-documents';
import { parseCaseFile } from '@signet/server/management/documents/case-file';
import { parseDomainDocument } from '@signet/server/management/documents/parse-document';
import { documentOf, exportDomain } from '@signet/server/management/export-domain';
import { parsePublicKey } from '@signet/server/management/public-key';
import { runCases } from '@signet/server/management/run-cases';
import { noStore } from '@signet/server/management/stored-world';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { stringify } from 'yaml';

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();
const ybase64 = (text: string) =>
  Buffer.from(text).toString('base64').replaceAll('+', '.').replaceAll('/', '_').replaceAll('=', '-');
const base64url = (text: string) => Buffer.from(text).toString('base64url');

const assertion = (effect: string | undefined, role: string, action: string, resource: string, more: object = {}) => ({
  ...(effect !== undefined && { effect }),
  role: `films:role.${role}`,
  action,
  resource,
  id: 7,
  ...more,
});

/** A domain as ZMS has it, with something of everything. */
const films = {
  name: 'films',
  description: 'Films: the good ones',
  modified: '2026-01-02T03:04:05.678Z',
  enabled: true,
  auditEnabled: true,
  account: '012345678901',
  tokenExpiryMins: 60,
  serviceCertExpiryMins: 0,
  roleCertExpiryMins: 1440,
  org: 'media-org',
  tags: { owner: { list: ['media'] } },
  roles: [
    { name: 'films:role.admin', roleMembers: [{ memberName: 'user.jane', principalType: 1 }] },
    {
      name: 'films:role.viewer',
      tokenExpiryMins: 10,
      certExpiryMins: 20,
      selfServe: true,
      roleMembers: [
        { memberName: 'media.player' },
        {
          memberName: 'media.guest',
          expiration: '2026-06-01T00:00:00.000Z',
          reviewReminder: '2026-05-01T00:00:00.000Z',
        },
        { memberName: 'media.old', systemDisabled: 1 },
        { memberName: 'media.asked', approved: false },
        { memberName: 'films:group.critics' },
      ],
    },
    { name: 'films:role.banned', roleMembers: [{ memberName: 'user.joe' }] },
    { name: 'films:role.stages', members: ['media.x'], roleMembers: [{ memberName: 'media.stage*' }] },
    { name: 'films:role.lent', trust: 'lenders', roleMembers: [] },
  ],
  groups: [
    {
      name: 'films:group.critics',
      groupMembers: [{ memberName: 'user.joe' }, { memberName: 'user.ann', expiration: '2026-06-01T00:00:00.000Z' }],
    },
  ],
  policies: {
    contents: {
      domain: 'films',
      policies: [
        { name: 'films:policy.admin', assertions: [assertion('ALLOW', 'admin', '*', 'films:*')] },
        {
          name: 'films:policy.watching',
          version: '0',
          active: true,
          caseSensitive: true,
          assertions: [
            assertion(undefined, 'viewer', 'Watch', 'films:Film.*'),
            assertion('DENY', 'banned', 'watch', 'films:film.secret'),
            assertion('ALLOW', 'stage?', 'watch', 'films:shelf:one'),
            assertion('ALLOW', 'ghosts', 'watch', 'films:film.x'),
            assertion('ALLOW', 'viewer', 'watch', 'others:film.x'),
            assertion('ALLOW', 'lent', 'lend', 'films:film.?'),
          ],
        },
        {
          name: 'films:policy.editing',
          version: 'v1',
          active: false,
          assertions: [assertion('ALLOW', 'viewer', 'edit', 'films:film.a')],
        },
        {
          name: 'films:policy.editing',
          version: 'v2',
          active: true,
          assertions: [
            assertion('ALLOW', 'admin', 'edit', 'films:film.a', {
              conditions: {
                conditionsList: [{ id: 1, conditionsMap: { scopeOnPrem: { operator: 'EQUALS', value: 'true' } } }],
              },
            }),
          ],
        },
      ],
    },
    signature: 'x',
    keyId: '0',
  },
  services: [
    {
      name: 'films.api',
      description: 'Serves films',
      providerEndpoint: 'https://films.example/confirm',
      hosts: ['a.films.example'],
      executable: '/bin/api',
      publicKeys: [
        { id: '0', key: ybase64(pemOf(ec.publicKey)) },
        { id: 'v1.2', key: ybase64(pemOf(rsa.publicKey)) },
        { id: 'weak', key: ybase64(pemOf(weak.publicKey)) },
      ],
    },
    { name: 'films.agents', providerEndpoint: 'class://com.example.Provider' },
  ],
  entities: [{ name: 'films:entity.x', value: { a: 1 } }],
};

const clone = (change: (data: typeof films) => void): string => {
  const data = structuredClone(films);
  change(data);
  return JSON.stringify(data);
};

/** Content of the document, after it was read again as `signet plan` reads it. */
function imported(t: ExecutionContext, text: string) {
  const result = importDomain('export', text);
  const again = parseDomainDocument('films.yaml', exportDomain(result.content), parsePublicKey);
  if (again.kind !== 'ok') throw new Error(JSON.stringify(again.problems));
  t.deepEqual(again.document.content, result.content, 'the document says the same');
  return { ...result, document: again.document };
}

const refused = (t: ExecutionContext, text: string, message: string | RegExp) =>
  t.throws(() => importDomain('export', text), { instanceOf: InvalidRequestError, message }, String(message));

test('a domain comes over with its roles, groups, policies, services and bounds', (t) => {
  const { content } = imported(t, JSON.stringify(films));
  t.deepEqual(JSON.parse(JSON.stringify(documentOf(content))), {
    domain: 'films',
    description: 'Films: the good ones',
    requireReason: true,
    limits: { tokenExpirySeconds: 3600, roleCertExpirySeconds: 86_400 },
    accounts: { aws: '012345678901' },
    roles: {
      admin: { members: ['user.jane'] },
      banned: { members: ['user.joe'] },
      lent: { trust: 'lenders' },
      stages: { members: ['media.stage*'] },
      viewer: {
        tokenExpirySeconds: 600,
        certExpirySeconds: 1200,
        members: [
          'films:group.critics',
          { name: 'media.guest', expires: '2026-06-01T00:00:00.000Z', review: '2026-05-01T00:00:00.000Z' },
          { name: 'media.old', disabled: true },
          'media.player',
        ],
      },
    },
    groups: { critics: { members: [{ name: 'user.ann', expires: '2026-06-01T00:00:00.000Z' }, 'user.joe'] } },
    policies: {
      admin: [{ effect: 'ALLOW', action: '*', resource: '*', role: 'admin' }],
      editing: {
        active: 'v2',
        versions: {
          v1: [{ effect: 'ALLOW', action: 'edit', resource: 'film.a', role: 'viewer' }],
          v2: [
            {
              effect: 'ALLOW',
              action: 'edit',
              resource: 'film.a',
              role: 'admin',
              conditions: [{ scopeonprem: 'true' }],
            },
          ],
        },
      },
      watching: [
        { effect: 'ALLOW', action: 'Watch', resource: 'Film.*', role: 'viewer', caseSensitive: true },
        { effect: 'DENY', action: 'watch', resource: 'film.secret', role: 'banned', caseSensitive: true },
        { effect: 'ALLOW', action: 'watch', resource: 'films:shelf:one', role: 'stage?', caseSensitive: true },
        { effect: 'ALLOW', action: 'lend', resource: 'film.?', role: 'lent', caseSensitive: true },
      ],
    },
    services: {
      agents: {},
      api: {
        description: 'Serves films',
        endpoint: 'https://films.example/confirm',
        hosts: ['a.films.example'],
        publicKeys: { 0: pemOf(ec.publicKey), 'v1.2': pemOf(rsa.publicKey) },
      },
    },
  });
});

test('what is not taken over, or means something else, is said once each', (t) => {
  t.deepEqual(imported(t, JSON.stringify(films)).notices.map(formatNotice), [
    '`org` of the domain is not imported (1): films',
    '`tags` of the domain is not imported (1): films',
    '`entities` of the domain is not imported (1): films',
    'members of the role `admin` administer the domain here, regardless of its policies (1): user.jane',
    'domains are trusted or have groups in roles: import them first, or into the same folder (1): lenders',
    '`selfServe` of roles is not imported: with `requestSeconds`, anyone may ask for a role for a limited time (1): viewer',
    'pending members are skipped: they are not members yet (1): viewer: media.asked',
    'members are patterns, which `signet plan` and `apply` take with `--allow-wildcard` only (1): stages: media.stage*',
    'assertions name a role that the domain does not have: they match nothing and are skipped (1): watching',
    'assertions are about resources of other domains: they match nothing and are skipped (1): watching',
    'policy versions are not active and have no effect (1): editing v1',
    'assertions have conditions: they are enforced here, while servers and engines of Athenz ignore them (1): editing',
    '`executable` of services is not imported (1): api',
    'public keys are not P-256, P-384, P-521, RSA 2048 or more, or Ed25519: skipped (1): api: weak',
    'endpoints of providers are not `https:` addresses without a user name: skipped (1): agents',
  ]);
});

test('a role whose changes are reviewed needs an approval', (t) => {
  const [admin, viewer, banned, ...others] = films.roles;
  const roles = [admin, viewer, { ...banned, reviewEnabled: true }, ...others];
  const { content, notices } = imported(t, JSON.stringify({ ...films, roles }));
  t.deepEqual(
    content.roles
      .map(({ name, approvals }) => [String(name), approvals])
      .filter(([, approvals]) => approvals !== undefined),
    [['banned', 1]],
  );
  const said = notices.map(formatNotice).filter((text) => text.includes('reviewEnabled'));
  t.deepEqual(said, [
    '`reviewEnabled` of roles becomes `approvals: 1`: `admin` needs two persons, and domains whose groups they list `approvals` too (1): banned',
  ]);
});

/* Access in Athenz, by its rules for access checks (`assume_role` of lenders lets media.player into films:role.lent). */
const decisions = `
- { principal: media.player, action: watch, resource: film.a, expect: allow, note: an assertion without effect allows }
- { principal: media.player, action: WATCH, resource: FILM.A, expect: allow, note: case does not count }
- { principal: media.player, action: watch, resource: film.secret, expect: allow }
- { principal: media.player, action: watch, resource: film, expect: deny, note: the dot is part of the pattern }
- { principal: media.player, action: watch, resource: films:film.a/b:c, expect: allow, note: "* is any text" }
- { principal: user.joe, action: watch, resource: film.a, expect: allow, note: by the group }
- { principal: user.joe, action: watch, resource: film.secret, expect: deny, note: DENY wins }
- { principal: user.ann, action: watch, resource: film.a, at: 2026-05-31T23:59:59Z, expect: allow }
- { principal: user.ann, action: watch, resource: film.a, at: 2026-06-01T00:00:01Z, expect: deny, note: out of the group }
- { principal: media.guest, action: watch, resource: film.a, at: 2026-05-31T23:59:59Z, expect: allow }
- { principal: media.guest, action: watch, resource: film.a, at: 2026-06-01T00:00:01Z, expect: deny, note: expired }
- { principal: media.old, action: watch, resource: film.a, expect: deny, note: disabled }
- { principal: media.asked, action: watch, resource: film.a, expect: deny, note: pending }
- { principal: media.x, action: watch, resource: films:shelf:one, expect: deny, note: members is deprecated }
- { principal: media.stage1, action: watch, resource: films:shelf:one, expect: allow, note: patterns of members and roles }
- { principal: media.stage1, action: watch, resource: films:shelf:two, expect: deny }
- { principal: media.player, action: edit, resource: film.a, expect: deny, note: that version is not active }
- { principal: media.player, action: lend, resource: film.a, expect: allow, note: by the trusted domain }
- { principal: media.player, action: lend, resource: film.ab, expect: deny, note: "? is one character" }
- { principal: media.old, action: lend, resource: film.a, expect: deny, note: lenders do not let it }
- { principal: user.jane, action: anything, resource: whatever, expect: allow, note: administrators }
- { principal: user.eve, action: watch, resource: film.a, expect: deny }
`;

const lenders = JSON.stringify({
  name: 'lenders',
  roles: [
    { name: 'lenders:role.admin', roleMembers: [{ memberName: 'user.jane' }] },
    { name: 'lenders:role.borrowers', roleMembers: [{ memberName: 'media.player' }] },
  ],
  policies: {
    contents: {
      policies: [
        {
          name: 'lenders:policy.lending',
          assertions: [{ role: 'lenders:role.borrowers', action: 'assume_role', resource: 'films:role.l*' }],
        },
      ],
    },
  },
});

/** 2026-03-01T00:00:00Z. */
const march = 1_772_323_200_000;

test('the imported domains decide as they did', (t) => {
  const documents = [JSON.stringify(films), lenders].map((text) => imported(t, text).document);
  const cases = parseCaseFile('films.cases.yaml', decisions);
  if (cases.kind !== 'ok') throw new Error(JSON.stringify(cases.problems));
  const { snapshot } = checkDocuments(documents, noStore, march);
  const { passed, failures } = runCases(snapshot, [cases.cases], march);
  t.deepEqual(failures, []);
  t.is(passed, 22);
});

/* Athenz's rules for access checks, written again from their description: whole-string patterns over full names, DENY wins, ALLOW by default. */

const glob = (pattern: string, text: string) =>
  new RegExp(
    `^${pattern
      .toLowerCase()
      .replaceAll(/[.\\+^$|(){}[\]/]/g, '\\$&')
      .replaceAll('*', '[^]*')
      .replaceAll('?', '[^]')}$`,
  ).test(text.toLowerCase());

interface RandomRule {
  readonly role: string;
  readonly action: string;
  readonly resource: string;
  readonly effect?: 'ALLOW' | 'DENY';
}
interface RandomDomain {
  readonly roles: Readonly<Record<string, readonly string[]>>;
  readonly group: readonly { readonly memberName: string; readonly expiration?: string }[];
  readonly policies: readonly { readonly active: boolean; readonly assertions: readonly RandomRule[] }[];
}

function isInRole({ roles, group }: RandomDomain, role: string, principal: string): boolean {
  return (roles[role] ?? []).some((member) => {
    if (member !== 'films:group.g') return glob(member, principal);
    return group.some(({ memberName, expiration }) => memberName === principal && expiration !== past);
  });
}

function isGranted(domain: RandomDomain, principal: string, action: string, resource: string): boolean {
  const matching = domain.policies
    .filter(({ active }) => active)
    .flatMap(({ assertions }) => assertions)
    .filter((rule) => glob(rule.action, action) && glob(rule.resource, resource))
    .filter(({ role }) =>
      Object.keys(domain.roles).some((name) => glob(role, `films:role.${name}`) && isInRole(domain, name, principal)),
    );
  return matching.length > 0 && matching.every(({ effect }) => effect !== 'DENY');
}

const [past, future] = ['2026-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'];
const principals = ['m.a', 'm.b', 'n.a', 'user.x'];
const members = [...principals, 'm.*', '*', 'user.*', 'films:group.g'];
const randomDomain = fc.record({
  roles: fc.dictionary(fc.constantFrom('a', 'b', 'ab'), fc.uniqueArray(fc.constantFrom(...members), { maxLength: 3 })),
  group: fc.uniqueArray(
    fc.record(
      { memberName: fc.constantFrom(...principals), expiration: fc.constantFrom(past, future) },
      { requiredKeys: ['memberName'] },
    ),
    { selector: ({ memberName }) => memberName },
  ),
  policies: fc.array(
    fc.record({
      active: fc.boolean(),
      assertions: fc.array(
        fc.record(
          {
            role: fc.constantFrom('a', 'b', 'ab', 'a*', '*', '?', 'gone').map((role) => `films:role.${role}`),
            action: fc.constantFrom('read', 'READ', 'r*', '?ead', '*', 'write'),
            resource: fc.constantFrom(
              'films:x',
              'films:X:*',
              'films:*',
              '*:x',
              '*:*',
              '*:?',
              'films:?',
              'other:x',
              'films:*y',
            ),
            effect: fc.constantFrom('ALLOW' as const, 'DENY' as const),
          },
          { requiredKeys: ['role', 'action', 'resource'] },
        ),
        { maxLength: 4 },
      ),
    }),
    { maxLength: 3 },
  ),
});

test('property: an imported domain grants what Athenz granted', (t) => {
  const resources = ['films:x', 'films:y', 'films:x:y', 'films:a:x', 'films:xx'];
  const questions = principals.flatMap((principal) =>
    ['read', 'write'].flatMap((action) => resources.map((resource) => ({ principal, action, resource }))),
  );
  let granted = 0;
  fc.assert(
    fc.property(randomDomain, (domain) => {
      const text = JSON.stringify({
        name: 'films',
        roles: Object.entries(domain.roles).map(([name, list]) => ({
          name: `films:role.${name}`,
          roleMembers: list.map((memberName) => ({ memberName })),
        })),
        groups: [{ name: 'films:group.g', groupMembers: domain.group }],
        policies: {
          contents: { policies: domain.policies.map((policy, at) => ({ name: `films:policy.p${at}`, ...policy })) },
        },
      });
      const { snapshot } = checkDocuments([imported(t, text).document], noStore, march);
      const cases = questions.map((question) => {
        const { principal, action, resource } = question;
        const expect = isGranted(domain, principal, action, resource) ? 'allow' : 'deny';
        if (expect === 'allow') granted += 1;
        return { ...question, expect };
      });
      const file = parseCaseFile('films.cases.yaml', JSON.stringify(cases));
      if (file.kind !== 'ok') throw new Error(JSON.stringify(file.problems));
      const { failures } = runCases(snapshot, [file.cases], march);
      if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join('\n'));
    }),
    { numRuns: 150 },
  );
  t.true(granted > 30, `${granted} were granted`);
});

const plain = `domain:
    name: films
    description: Films: the good ones
    aws_account: 012345678901
    org: media-org
    audit_enabled: true
    token_expiry_mins: 60
    role_cert_expiry_mins: 1440
    modified: 2026-01-02T03:04:05.678Z
    tags:
      - key: owner
        values:
          - media
    roles:
        - name: admin
          members:
            - name: user.jane
        - name: viewer
          token_expiry_mins: 10
          cert_expiry_mins: 20
          self_serve: true
          members:
            - name: media.player
            - name: media.guest
              expiration: 2026-06-01T00:00:00.000Z
              review: 2026-05-01T00:00:00.000Z
            - name: media.old
              system-disabled: true
            - name: media.asked
              pending: true
            - name: films:group.critics
        - name: banned
          members:
            - name: user.joe
        - name: stages
          members:
            - name: media.stage*
        - name: lent
          trust: lenders
    groups:
        - name: critics
          members:
            - name: user.joe
            - name: user.ann
              expiration: 2026-06-01T00:00:00.000Z
    policies:
        - name: admin
          assertions:
            - grant * to admin on *
        - name: watching
          version: 0
          active: true
          assertions:
            - grant watch to viewer on film.*
            - deny watch to banned on film.secret
            - grant watch to ghosts on film.x
            - grant lend to lent on film.?
            - grant assume_role to viewer on lenders:role.reader
    services:
        - name: films.api
          modified: 2026-01-02T03:04:05.678Z
          executable: /bin/api
          providerEndpoint: https://films.example/confirm
          hosts: [a.films.example]
          publicKeys: 
            - keyId: 0
              value: ${ybase64(pemOf(ec.publicKey))}
            - keyId: v1.2
              value: ${ybase64(pemOf(rsa.publicKey))}
        - name: films.agents
          publicKeys: []
`;

test('JSON, YAML, the JWS and the plain output of zms-cli give one document', (t) => {
  const text = JSON.stringify(films);
  const json = imported(t, text).content;
  t.deepEqual(imported(t, stringify(films)).content, json);
  const jws = { payload: base64url(text), protected: base64url('{}'), signature: 'x', header: { kid: '0' } };
  t.deepEqual(imported(t, JSON.stringify(jws)).content, json);
  const short = imported(t, plain);
  t.deepEqual([short.content.roles, short.content.groups], [json.roles, json.groups]);
  t.deepEqual(short.content.limits, json.limits);
  t.deepEqual(
    short.content.services.map(({ name, publicKeys, hosts }) => ({ name, publicKeys, hosts })),
    json.services.map(({ name, publicKeys, hosts }) => ({ name, publicKeys, hosts })),
  );
  t.deepEqual(documentOf(short.content).policies, {
    admin: [{ effect: 'ALLOW', action: '*', resource: '*', role: 'admin' }],
    watching: [
      { effect: 'ALLOW', action: 'watch', resource: 'film.*', role: 'viewer' },
      { effect: 'DENY', action: 'watch', resource: 'film.secret', role: 'banned' },
      { effect: 'ALLOW', action: 'lend', resource: 'film.?', role: 'lent' },
      { effect: 'ALLOW', action: 'assume_role', resource: 'lenders:role.reader', role: 'viewer' },
    ],
  });
  t.regex(short.notices.map(formatNotice).join('\n'), /^the plain output of zms-cli does not say everything/);
  t.deepEqual(imported(t, plain.replaceAll('\n', '\r\n')).content, short.content);
  t.deepEqual(imported(t, plain.replace('media.stage*', '*')).content.roles[3]?.members[0]?.name, '*');
});

test('what could change who has access is refused, and the field is named', (t) => {
  refused(
    t,
    clone((data) => Object.assign(data.roles[4] ?? {}, { roleMembers: [{ memberName: 'a.b' }] })),
    /^roles\.lent: has members and trusts/,
  );
  refused(
    t,
    clone((data) => Object.assign(data.roles[3] ?? {}, { roleMembers: undefined })),
    /^roles\.stages\.members: is deprecated and ignored by Athenz/,
  );
  refused(
    t,
    clone((data) => Object.assign(data.roles[1]?.roleMembers[0] ?? {}, { memberName: 'x:ext.jane@example.com' })),
    /^roles\.viewer\.members\[0\]\.name: is not a valid PrincipalName/,
  );
  refused(
    t,
    clone((data) => Object.assign(data.groups[0]?.groupMembers[0] ?? {}, { memberName: 'media.*' })),
    /^groups\.critics\.members\[0\]\.name: a group has no pattern members/,
  );
  refused(
    t,
    clone((data) => Object.assign(data.policies.contents.policies[2] ?? {}, { active: true })),
    /^policies\.editing: has more than one active version/,
  );
  refused(
    t,
    clone((data) => Object.assign(data.policies.contents.policies[2] ?? {}, { version: 'v2' })),
    /^policies\.editing: has a version twice/,
  );
  const rule = (change: object) =>
    clone((data) => Object.assign(data.policies.contents.policies[1]?.assertions[0] ?? {}, change));
  refused(
    t,
    rule({ effect: 'MAYBE' }),
    /^policies\.contents\.policies\[1\]\.assertions\[0\]\.effect: must be `ALLOW` or `DENY`/,
  );
  refused(t, rule({ action: 'TCP-IN:1-2:3' }), /^policies\.watching\[0\]\.action: is not a valid action/);
  refused(
    t,
    rule({ resource: 'film*:x' }),
    /^policies\.watching\[0\]\.resource: must begin with a domain, or with `\*:`/,
  );
  refused(t, rule({ resource: 'film.x' }), /^policies\.watching\[0\]\.resource: must begin with a domain and a colon/);
  for (const role of ['*:role.viewer', 'films:*', '*viewer', 'film?:role.viewer']) {
    refused(t, rule({ role }), /^policies\.watching\[0\]\.role: must begin with `films:role\.`/);
  }
  const conditions = (conditionsMap: object) => rule({ conditions: { conditionsList: [{ conditionsMap }] } });
  refused(
    t,
    conditions({ weekday: { operator: 'EQUALS', value: 'x' } }),
    /^policies\.watching\[0\]\.conditions\[0\]\.weekday: is not known here/,
  );
  refused(
    t,
    conditions({ instances: { operator: 'LIKES', value: 'x' } }),
    /^policies\.watching\[0\]\.conditions\[0\]\.instances/,
  );
  refused(
    t,
    clone((data) => Object.assign(data.services[0] ?? {}, { name: 'media.api' })),
    /^services\.media\.api: must begin with `films\.`/,
  );
  refused(
    t,
    clone((data) => data.roles.push({ ...(data.roles[0] as (typeof films.roles)[0]) })),
    /^roles\.admin: is there twice/,
  );
  refused(
    t,
    clone((data) => Object.assign(data, { name: 'sys.auth' })),
    /^name: `sys\.auth` contains the permissions of the server itself/,
  );
  refused(
    t,
    clone((data) => Object.assign(data, { account: '12' })),
    /^accounts\.aws: must be 12 digits/,
  );
  refused(
    t,
    clone((data) => Object.assign(data, { tokenExpiryMins: -1 })),
    /^limits\.tokenExpirySeconds: must be at least 1 second/,
  );
  refused(
    t,
    plain.replace('on film.secret', 'on shelf:one'),
    /the plain output does not include the domain of the resource/,
  );
  refused(t, plain.replace('deny watch to banned', 'deny watch banned'), /must be `grant ACTION to ROLE on RESOURCE`/);
});

test('what means something else in Athenz is said', (t) => {
  const said = (text: string) => imported(t, text).notices.map(formatNotice).join('\n');
  const rule = (change: object) =>
    clone((data) => Object.assign(data.policies.contents.policies[1]?.assertions[1] ?? {}, change));
  t.regex(
    said(rule({ action: 'assume_role', resource: 'others:role.x' })),
    /DENY assertions for `assume_role` give no role here and remove none.* \(1\): watching/,
  );
  t.regex(
    said(rule({ action: 'assume_role', effect: 'ALLOW' })),
    /`assume_role` are about roles of the domain itself.* \(1\): watching/,
  );
  const member = (change: object) =>
    clone((data) => ((data.roles[3]?.roleMembers ?? []) as object[]).push({ memberName: 'media.stage2', ...change }));
  t.notRegex(said(member({})), /the pattern keeps them in it/);
  for (const change of [{ systemDisabled: 1 }, { expiration: '2026-06-01T00:00:00.000Z' }]) {
    t.regex(said(member(change)), /the pattern keeps them in it, as in tokens of Athenz \(1\): stages: media\.stage2/);
  }
  t.regex(said(member({ memberName: 'unix.root' })), /do not exist as services in Athenz.* \(1\): stages: unix\.root/);
  t.regex(
    said(member({ memberName: 'bots.x', principalType: 4 })),
    /do not exist as services in Athenz.* \(1\): stages: bots\.x/,
  );
  const group = { memberName: 'films:group.critics', systemDisabled: 2 };
  t.regex(said(member(group)), /disabled groups in roles grant nothing here.* \(1\): stages: films:group\.critics/);
  const disabled = imported(
    t,
    clone((data) => Object.assign(data, { enabled: false })),
  );
  t.false(disabled.content.enabled);
  t.regex(disabled.notices.map(formatNotice).join('\n'), /the domain is disabled and remains disabled/);
  const many = clone((data) =>
    data.roles.push(...Array.from({ length: 9 }, (_, at) => ({ name: `films:role.r${at}`, selfServe: true }) as never)),
  );
  t.regex(said(many), /^`selfServe` of roles is not imported: .+ \(10\): viewer, r0, r1, r2, r3, \.\.\.$/m);
});

test('a file that is none, or an attack, is refused at once', (t) => {
  refused(t, '', /^the file is not an export of a domain but no object: /);
  refused(t, '[]', /^the file is not an export of a domain but a list: /);
  refused(t, '{', /^the file: is not valid JSON/);
  refused(t, '{"name":"films","name":"other"}', /^the file: is not valid JSON/);
  refused(t, '{"name":1}', /^name: must be a string/);
  refused(
    t,
    JSON.stringify({ name: 'films', roles: [{ name: 'films:role.a', roleMembers: [{}] }] }),
    /^roles\[0\]\.roleMembers\[0\]\.memberName: must be a string/,
  );
  refused(t, 'domain:\n    name: films\n    name: other\n', /unique/);
  refused(
    t,
    clone((data) => Object.assign(data.roles[1] ?? {}, { name: 'films:role.__proto__' })),
    /`__proto__` is not allowed/,
  );
  refused(
    t,
    clone((data) => Object.assign(data.roles[1] ?? {}, { name: 'films:role.a b' })),
    /^roles\.a b: is not a valid RoleName/,
  );
  t.notThrows(() =>
    importDomain('export', '{"name":"films","roles":[],"__proto__":{"enabled":false},"constructor":{"x":1}}'),
  );
  t.is(({} as { enabled?: boolean }).enabled, undefined);
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (const [one, next] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg'].map((pair) => [...pair])) {
    bomb.push(`${next}: &${next} [*${one}, *${one}, *${one}, *${one}, *${one}, *${one}, *${one}, *${one}, *${one}]`);
  }
  refused(t, bomb.join('\n'), /excessive alias count/);
  refused(t, `{"payload":"${base64url('{}')}=x","protected":"","signature":""}`, /^payload: must be base64url/);
  refused(
    t,
    `{"payload":"${Buffer.from([0xff]).toString('base64url')}","protected":"","signature":""}`,
    /^payload: must be base64url of UTF-8/,
  );
});

function signed(
  key: KeyObject,
  header: object,
  dsaEncoding: 'der' | 'ieee-p1363' = 'der',
  payload = JSON.stringify(films),
) {
  const input = `${base64url(JSON.stringify(header))}.${base64url(payload)}`;
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding }).toString('base64url');
  const [head, body] = input.split('.');
  return JSON.stringify({ payload: body, protected: head, header: { kid: 'other' }, signature });
}

test('the signature of the JWS is verified with the keys of ZMS', (t) => {
  const jwks = {
    keys: [
      { ...ec.publicKey.export({ format: 'jwk' }), kid: 'ec' },
      { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa' },
      { ...weak.publicKey.export({ format: 'jwk' }), kid: 'weak' },
      { kty: 'oct', k: 'AAAA', kid: 'oct' },
    ],
  };
  const keys = parseZmsKeys(JSON.stringify(jwks));
  t.deepEqual([...keys.keys()], ['ec', 'rsa']);
  const conf = parseZmsKeys(
    JSON.stringify({ zmsPublicKeys: [{ id: 'ec', key: ybase64(pemOf(ec.publicKey)) }], ztsPublicKeys: [] }),
  );
  const es256 = { kid: 'ec', alg: 'ES256' };
  for (const set of [keys, conf]) {
    for (const encoding of ['der', 'ieee-p1363'] as const) {
      const { signature } = importDomain('export', signed(ec.privateKey, es256, encoding), set);
      t.deepEqual(signature, { kind: 'verified', keyId: 'ec' });
    }
  }
  t.is(importDomain('export', signed(rsa.privateKey, { kid: 'rsa', alg: 'RS256' }), keys).signature.kind, 'verified');
  t.is(importDomain('export', signed(ec.privateKey, es256)).signature.kind, 'not-verified');
  t.is(importDomain('export', JSON.stringify(films)).signature.kind, 'none');

  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const refusals: readonly (readonly [string, RegExp])[] = [
    [JSON.stringify(films), /^the file is not signed/],
    [plain, /^the file is not signed/],
    [signed(other, es256), /^signature: is not one of key `ec`/],
    [signed(ec.privateKey, { kid: 'rsa', alg: 'ES256' }), /^signature: is not one of key `rsa`/],
    [signed(rsa.privateKey, { kid: 'rsa', alg: 'ES256' }), /^signature: is not one of key `rsa`/],
    [signed(ec.privateKey, { kid: 'none', alg: 'ES256' }), /^protected: the key file has no key `none`/],
    [signed(ec.privateKey, { kid: 'ec', alg: 'none' }), /^protected: must name a key/],
    [signed(ec.privateKey, { ...es256, crit: ['b64'], b64: false }), /^protected: must name a key/],
    [signed(ec.privateKey, es256).replace('"signature":"', '"signature":"AAAA'), /^signature: is not one of key `ec`/],
  ];
  for (const [text, message] of refusals) {
    t.throws(() => importDomain('export', text, keys), { instanceOf: InvalidRequestError, message }, String(message));
  }
  const fewer = signed(ec.privateKey, es256).replace(
    /"payload":"[^"]*"/,
    `"payload":"${base64url('{"name":"films"}')}"`,
  );
  t.throws(() => importDomain('export', fewer, keys), { message: /^signature: is not one of key `ec`/ });
  for (const [text, message] of [
    ['{}', /must be a JWK Set, or an athenz\.conf/],
    ['x', /^the key file: is not valid JSON/],
    ['{"keys":[]}', /has no P-256 key/],
    [JSON.stringify({ zmsPublicKeys: [{ id: '0', key: 'x' }] }), /has no P-256 key/],
  ] as const) {
    t.throws(() => parseZmsKeys(text), { instanceOf: InvalidRequestError, message });
  }
});
