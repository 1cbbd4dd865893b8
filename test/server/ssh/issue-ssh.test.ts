import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import {
  type DomainName,
  parseDomainName,
  parsePathElement,
  parsePrincipalName,
  parseRoleName,
} from '@signet/policy-engine/names';
import { compileDomain } from '@signet/policy-engine/policy';
import { StoreUnavailableError } from '@signet/server/errors';
import { MembersBuilder } from '@signet/server/snapshot/compile-members';
import type { DomainSnapshot, Snapshot } from '@signet/server/snapshot/snapshot';
import type { SshCertificateRecord } from '@signet/server/ssh/certificate-log';
import { readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import {
  type IssueSshDeps,
  issueHostCertificate,
  issueUserCertificate,
  randomSerial,
  type SshHost,
} from '@signet/server/ssh/issue-ssh';
import { createSshAuthorityKey, sshAuthorityOf } from '@signet/server/ssh/ssh-authority';
import { parseSshCertRequest } from '@signet/server/ssh/ssh-csr';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import test from 'ava';
import { FakeClock } from '#support/clock';

const operator = parsePrincipalName('user.olive');
const play = parsePrincipalName('media.play');

/** A domain whose role `operators` holds user.olive, with these assertions for it: `ALLOW ssh_login ssh.deploy`. */
function domain(name: string, ...assertions: string[]): DomainSnapshot {
  const role = { name: parseRoleName('operators') };
  const rules = assertions.map((text) => {
    const [effect = '', action = '', resource = ''] = text.split(' ');
    const typed = effect === 'DENY' ? 'DENY' : 'ALLOW';
    return { effect: typed, action, resource: `${name}:${resource}`, role: `${name}:role.operators` } as const;
  });
  return {
    name: parseDomainName(name),
    policyVersion: 1,
    policyModified: 0,
    roles: new Map([[role.name, role]]),
    services: new Map(),
    policies: [],
    policy: compileDomain(name, [{ name: 'logins', assertions: rules }]),
    limits: {},
    accounts: {},
    credentialsFrom: 0,
    assumable: new Map(),
    assumers: new Map(),
    trusting: new Map(),
  };
}

const operators = new MembersBuilder();
operators.role(parseRoleName('operators'))(operator, Number.POSITIVE_INFINITY);
const members = operators.build();

function snapshotOf(...domains: DomainSnapshot[]): Snapshot {
  const byName: ReadonlyMap<DomainName, DomainSnapshot> = new Map(domains.map((entry) => [entry.name, entry]));
  return {
    epoch: 1,
    counter: 1,
    head: '',
    domain: (name) => byName.get(name),
    domains: byName,
    members: new Map([...byName.keys()].map((name) => [name, members])),
    bundleDomains: new Map(),
    disabledDomains: new Set(),
    isPart: false,
    outdatedDomains: new Set(),
    signingKeys: [],
  };
}

const snapshot = snapshotOf(
  domain('sys.auth', 'ALLOW ssh_login ssh.deploy', 'ALLOW read ssh.root'),
  domain('media', 'ALLOW ssh_login ssh.*', 'DENY ssh_login ssh.root'),
  domain('empty'),
);
const authority = sshAuthorityOf(createPrivateKey(createSshAuthorityKey('ed25519')));
const key = sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey);

function world(overrides: Partial<IssueSshDeps> = {}) {
  const events: string[] = [];
  const records: SshCertificateRecord[] = [];
  const deps: IssueSshDeps = {
    snapshot: () => snapshot,
    snapshotAt: async () => snapshot,
    clock: new FakeClock(),
    authorities: { host: authority, user: authority },
    rules: { hostExpirySeconds: 86_400, userExpirySeconds: 3600, extensions: ['permit-pty'], sourceAddresses: [] },
    loginDomain: parseDomainName('sys.auth'),
    randomBytes: (length) => Buffer.alloc(length, 1),
    log: {
      intend: async (record) => {
        events.push('intend');
        records.push(record);
      },
      issued: async (serial) => {
        events.push(`issued ${serial}`);
      },
    },
    ...overrides,
  };
  return { deps, events, records };
}

const request = (certType: string, principals: string[], meta: object = {}) =>
  parseSshCertRequest({
    certRequestData: { principals, publicKey: formatSshPublicKey(key) },
    certRequestMeta: { requestor: certType === 'user' ? operator : play, certType, ...meta },
  });
const asking = { serial: '0a', notAfter: 1_767_225_600 + 365 * 86_400 };
const user = { principal: operator, asking };
const host: SshHost = {
  service: play,
  instanceId: parsePathElement('i-1'),
  asking,
  namesAt: () => ['play.media.test', '*.play.media.test'],
};

function read(line: string) {
  const [type = '', base64 = '', ...comment] = line.split(' ');
  const { subject, authority: signer, ...rest } = readSshCertificate(Buffer.from(base64, 'base64'));
  return {
    type,
    comment: comment.join(' '),
    key: subject.fields.equals(key.fields),
    signer: signer.fingerprint,
    ...rest,
  };
}

test('the roles of who asks for many logins are found once for each domain and time, and paid', async (t) => {
  let [looked, work] = [0, 0];
  const counted: Snapshot = {
    ...snapshot,
    members: new Proxy(snapshot.members, {
      get(target, name) {
        if (name === 'get') looked += 1;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }),
  };
  const { deps } = world({ snapshot: () => counted });
  const compared = (more: number) => {
    work += more;
  };
  const ask = async (...principals: string[]) => {
    [looked, work] = [0, 0];
    await issueUserCertificate(deps, { ...user, compared }, request('user', principals));
    return { looked, work };
  };
  const one = await ask('media:a');
  const many = await ask('media:a', 'media:b', 'media:c', 'media:d');
  t.is(many.looked, one.looked);
  t.true(one.work > 0 && many.work > one.work);
});

test('a user certificate: what it says, and what is recorded before it is signed', async (t) => {
  const { deps, events, records } = world();
  const issued = await issueUserCertificate(deps, user, request('user', ['deploy', 'Media:admin']));
  const serial = 0x0101_0101_0101_0101n;
  t.deepEqual(read(issued.certificate), {
    type: 'ssh-ed25519-cert-v01@openssh.com',
    comment: 'user:user.olive',
    key: true,
    signer: authority.publicKey.fingerprint,
    kind: 'user',
    serial,
    keyId: 'user:user.olive',
    principals: ['deploy', 'media:admin'],
    validAfter: 1_767_225_300n,
    validBefore: 1_767_229_200n,
    criticalOptions: [],
    extensions: ['permit-pty'],
  });
  t.is(issued.signer, formatSshPublicKey(authority.publicKey));
  t.deepEqual(events, ['intend', `issued ${serial}`]);
  t.deepEqual(records, [
    {
      kind: 'user',
      serial,
      keyId: 'user:user.olive',
      owner: operator,
      provider: undefined,
      instanceId: undefined,
      askingSerial: '0a',
      principals: ['deploy', 'media:admin'],
      subjectKey: key.fingerprint,
      authorityKey: authority.publicKey.fingerprint,
      validAfter: 1_767_225_300,
      validBefore: 1_767_229_200,
    },
  ]);
});

test('a host certificate: its names, its instance, and no longer than what stands beside it', async (t) => {
  const { deps, events, records } = world();
  const meta = { athenzService: 'media.play', instanceId: 'i-1' };
  const issued = await issueHostCertificate(
    deps,
    { ...host, maxSeconds: 600 },
    request('host', ['PLAY.media.test'], meta),
  );
  t.like(read(issued.certificate), {
    kind: 'host',
    keyId: 'host:media.play:i-1',
    principals: ['play.media.test'],
    validBefore: 1_767_226_200n,
    criticalOptions: [],
    extensions: [],
  });
  t.is(events.length, 2);
  t.like(records[0], { owner: play, instanceId: 'i-1' });
});

const users: { note: string; principals: string[]; code: string; caller?: string; meta?: object }[] = [
  { note: 'a login that no rule grants', principals: ['admin'], code: 'forbidden' },
  { note: 'a login granted for another action', principals: ['root'], code: 'forbidden' },
  { note: 'a login that a DENY takes away', principals: ['media:root'], code: 'forbidden' },
  { note: 'one granted and one not', principals: ['deploy', 'root'], code: 'forbidden' },
  { note: 'a login of another domain with the same name', principals: ['empty:deploy'], code: 'forbidden' },
  { note: 'an unknown domain', principals: ['nowhere:deploy'], code: 'unknown-domain' },
  { note: 'a pattern', principals: ['media:*'], code: 'invalid-request' },
  { note: 'capitals', principals: ['Deploy'], code: 'invalid-request' },
  { note: 'two logins in one', principals: ['deploy,root'], code: 'invalid-request' },
  { note: 'two colons', principals: ['media:a:b'], code: 'invalid-request' },
  { note: 'a login of 33 characters', principals: ['a'.repeat(33)], code: 'invalid-request' },
  { note: 'another caller', principals: ['deploy'], code: 'forbidden', caller: 'user.other' },
  { note: 'a host', principals: ['deploy'], code: 'invalid-request', meta: { certType: 'host' } },
];

for (const { note, principals, code, caller, meta } of users) {
  test(`no user certificate: ${note}`, async (t) => {
    const { deps, events } = world();
    const asked = request('user', principals, meta);
    await t.throwsAsync(
      issueUserCertificate(deps, { principal: parsePrincipalName(caller ?? operator), asking }, asked),
      { code },
    );
    t.deepEqual(events, []);
  });
}

const hosts: { note: string; names: string[]; code: string; meta?: object }[] = [
  { note: 'a name of somebody else', names: ['db.media.test'], code: 'forbidden' },
  { note: 'one own name and one foreign', names: ['play.media.test', 'db.media.test'], code: 'forbidden' },
  { note: 'a pattern, also where the X.509 certificate has it', names: ['*.play.media.test'], code: 'invalid-request' },
  { note: 'an address with a port', names: ['[play.media.test]:22'], code: 'invalid-request' },
  { note: 'another requestor', names: ['play.media.test'], code: 'forbidden', meta: { requestor: 'media.other' } },
  { note: 'another service', names: ['play.media.test'], code: 'forbidden', meta: { athenzService: 'media.other' } },
  { note: 'another instance', names: ['play.media.test'], code: 'forbidden', meta: { instanceId: 'i-2' } },
  { note: 'a user', names: ['play.media.test'], code: 'invalid-request', meta: { certType: 'user' } },
];

for (const { note, names, code, meta } of hosts) {
  test(`no host certificate: ${note}`, async (t) => {
    const { deps, events } = world();
    await t.throwsAsync(issueHostCertificate(deps, host, request('host', names, meta)), { code });
    t.deepEqual(events, []);
  });
}

test('a kind without an authority is not issued', async (t) => {
  const { deps } = world({ authorities: {} });
  await t.throwsAsync(issueUserCertificate(deps, user, request('user', ['deploy'])), { code: 'not-found' });
  await t.throwsAsync(issueHostCertificate(deps, host, request('host', ['play.media.test'])), { code: 'not-found' });
});

test('nothing is signed when the intent cannot be recorded', async (t) => {
  const signed: string[] = [];
  const watched = {
    ...authority,
    sign: (data: Uint8Array) => authority.sign(Buffer.from(signed.push('signed') > 0 ? data : [])),
  };
  const { deps } = world({
    authorities: { user: watched },
    log: { intend: () => Promise.reject(new StoreUnavailableError('store is locked')), issued: async () => {} },
  });
  await t.throwsAsync(issueUserCertificate(deps, user, request('user', ['deploy'])), { code: 'store-unavailable' });
  t.deepEqual(signed, []);
});

test('what an authority signed wrongly never leaves', async (t) => {
  const wrong = { ...authority, sign: () => authority.sign(Buffer.from('something else')) };
  const { deps, events } = world({ authorities: { user: wrong } });
  await t.throwsAsync(issueUserCertificate(deps, user, request('user', ['deploy'])));
  t.deepEqual(events, ['intend']);
});

test('a serial number is never 0', (t) => {
  const drawn = [Buffer.alloc(8), Buffer.alloc(8), Buffer.from('00000000000000ff', 'hex')];
  t.is(
    randomSerial(() => drawn.shift() ?? Buffer.alloc(8)),
    255n,
  );
});
