import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import type { DomainContent } from '@signet/server/model/records';
import type { Store } from '@signet/server/model/store';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { type Answering, confirm, registration, worldWith } from '#support/called-provider';
import { domainContent } from '#support/domain-sketch';
import { instanceDomains, instanceNames, instanceWorld, json, keyPem } from '#support/instance-world';
import { ecPair, requestPem } from '#support/requests';
import { saveDomain } from '#support/save-domain';
import { type Ending, wholeFile } from '#support/start-server';
import { startSts, stsAccess } from '#support/sts';
import { temporaryFolder } from '#support/temp';

/*
 * Rights that are removed before something is recorded give nothing, also when another server took them away and this one, whose
 * snapshot looks at the store once a minute here, has not noticed.
 */

process.env['AWS_ACCESS_KEY_ID'] = stsAccess.accessKeyId;
process.env['AWS_SECRET_ACCESS_KEY'] = stsAccess.secretAccessKey;
process.env['AWS_EC2_METADATA_DISABLED'] = 'true';

const behind = { 'snapshot.refreshIntervalMs': 60_000 };

type Edit = (content: DomainContent) => DomainContent;

/** Changes one domain from another server on the same store; returns the domain as it was. */
async function changeElsewhere(elsewhere: Store, name: string, edit: Edit): Promise<DomainContent> {
  const before = await elsewhere.domain(parseDomainName(name));
  if (before === undefined) throw new Error(`there is no domain ${name}`);
  await elsewhere.change({ actor: 'another server' }, (transaction) => saveDomain(transaction, edit(before)));
  return before;
}

async function storeElsewhere(t: Ending, folder: string): Promise<Store> {
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  return store;
}

const without =
  (role: string, resource: string): Edit =>
  (content) => ({
    ...content,
    policies: content.policies.map((policy) => ({
      ...policy,
      assertions: policy.assertions.filter(
        (rule) => rule.role !== `${content.name}:role.${role}` || rule.resource !== `${content.name}:${resource}`,
      ),
    })),
  });

const withoutMember =
  (role: string, member: string): Edit =>
  (content) => ({
    ...content,
    roles: content.roles.map((one) =>
      one.name === role ? { ...one, members: one.members.filter(({ name }) => name !== member) } : one,
    ),
  });

const withoutService =
  (service: string): Edit =>
  (content) => ({
    ...content,
    services: content.services.map((one) => (one.name === service ? { ...one, enabled: false } : one)),
  });

const withoutEndpoint: Edit = (content) => ({
  ...content,
  services: content.services.map(({ endpoint: _, ...service }) => service),
});

const deleted =
  (service: string): Edit =>
  (content) => ({ ...content, services: content.services.filter(({ name }) => name !== service) });

const closed: Edit = (content) => ({ ...content, enabled: false });

const removals: readonly (readonly [what: string, domain: string, edit: Edit, status: number])[] = [
  ['the right to launch at all', 'sys.auth', without('providers', 'instance'), 403],
  ['the right to launch this service', 'media', without('launchers', 'service.player'), 403],
  ['the place of the provider in its role', 'media', withoutMember('launchers', 'prov.cloud'), 403],
  ['the right to the DNS suffix', 'sys.auth', without('providers', 'dns.prov.example.com'), 400],
  ['the service', 'media', withoutService('player'), 400],
  ['the domain', 'media', closed, 404],
  ['the provider', 'prov', withoutService('cloud'), 403],
  ['the endpoint of the provider', 'prov', withoutEndpoint, 400],
];

const file = wholeFile();
let whileAsked: () => Promise<unknown> = async () => undefined;
const answering: Answering = (call, response, request) =>
  void whileAsked().then(() => confirm({ certSSH: 'true' })(call, response, request));
const world = await worldWith(file, answering, behind);
const elsewhere = await storeElsewhere(file, world.folder);
test.after.always(() => file.end());

const keyOf = (id: string) => ({
  provider: parsePrincipalName('prov.cloud'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement(id),
});

/** The serial number of the certificate that an instance was last given. */
async function issued(store: Store, id: string): Promise<string | undefined> {
  return (await store.instances.find(keyOf(id)))?.currentSerial;
}

for (const [what, domain, edit, status] of removals) {
  test.serial(`removed while the provider is asked: ${what}`, async (t) => {
    const id = `late-${removals.findIndex(([one]) => one === what)}`;
    const pair = ecPair();
    const registered = await world.as()('/instance', json(registration(id, pair)));
    t.is(registered.status, 201, registered.text);
    const certificate = String(Object(registered.body)['x509Certificate']);
    const serial = await issued(world.store, id);

    let before: DomainContent | undefined;
    whileAsked = async () => {
      before ??= await changeElsewhere(elsewhere, domain, edit);
    };
    const registering = await world.as()('/instance', json(registration(`${id}-new`)));
    t.is(registering.status, status, registering.text);
    t.is(await issued(world.store, `${id}-new`), undefined);

    if (before !== undefined) await restore(before);
    before = undefined;
    const altNames = [...instanceNames(id), ['dns', 'player.media.prov.example.com']] as const;
    const csr = requestPem(pair, { commonNames: ['media.player'], altNames });
    const refreshing = await world.as({ certificate, key: keyPem(pair) })(
      `/instance/prov.cloud/media/player/${id}`,
      json({ csr }),
    );
    t.is(refreshing.status, status, refreshing.text);
    t.is(await issued(world.store, id), serial, 'the lineage has not moved');
    whileAsked = async () => undefined;
    if (before !== undefined) await restore(before);
  });
}

async function restore(before: DomainContent): Promise<void> {
  await world.store.change({ actor: 'test' }, (transaction) => saveDomain(transaction, before));
  await world.running.refresh();
}

test.serial('an instance that is deleted while it refreshes gets nothing', async (t) => {
  const pair = ecPair();
  const registered = await world.as()('/instance', json(registration('late-d', pair)));
  const certificate = String(Object(registered.body)['x509Certificate']);
  whileAsked = () =>
    elsewhere.change({ actor: 'another server' }, (transaction) =>
      transaction.removeInstance(keyOf('late-d'), { reason: 'cessation-of-operation', at: 1, by: 'test' }),
    );
  const csr = requestPem(pair, { commonNames: ['media.player'], altNames: instanceNames('late-d') });
  const answer = await world.as({ certificate, key: keyPem(pair) })(
    '/instance/prov.cloud/media/player/late-d',
    json({ csr }),
  );
  whileAsked = async () => undefined;
  t.deepEqual(answer.body, { code: 403, message: 'the certificate that asked was revoked' });
});

const registeredKey = ecPair();
const pem = registeredKey.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const sshKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));

/** A server with everything that is given out on a right, and a second one on its store. */
async function everything(t: ExecutionContext) {
  const authority = join(temporaryFolder(t), 'user.pem');
  writeFileSync(authority, createSshAuthorityKey(), { mode: 0o600 });
  const sts = await startSts(t);
  const [system, prov, media, catalog] = instanceDomains;
  const domains = [
    {
      ...system,
      roles: { ...system.roles, operators: ['media.admin'] },
      policies: { ...system.policies, logins: [['ALLOW', 'operators', 'ssh_login', 'ssh.deploy']] as const },
    },
    prov,
    { ...media, services: { ...media.services, studio: { v1: pem } } },
    {
      ...catalog,
      roles: { ...catalog.roles, loaders: ['media.player'] },
      policies: {
        cloud: [['ALLOW', 'loaders', 'assume_aws_role', 'nightly']] as const,
        cleaning: [['ALLOW', 'loaders', 'delete', 'instance.*']] as const,
      },
    },
  ];
  const cloud = { 'cloud.aws.region': 'eu-central-1', 'cloud.aws.endpoint': sts.endpoint };
  const options = { ...behind, ...cloud, 'ssh.userAuthority': authority };
  const server = await instanceWorld(t, { domains, options, changes: 'polled' });
  const other = await storeElsewhere(t, server.folder);
  const content = domainContent(domains[3] ?? catalog);
  await server.store.change({ actor: 'test' }, (change) =>
    saveDomain(change, { ...content, accounts: { aws: '123456789012' } }),
  );
  await server.running.refresh();
  return { server, other };
}

const asked = {
  'a role certificate': {
    who: 'media.player',
    path: '/domain/catalog/role/reader/token',
    body: () => ({ csr: requestPem(ecPair(), { commonNames: ['catalog:role.reader'] }) }),
    removal: ['catalog', withoutMember('reader', 'media.player')],
  },
  "a service's certificate": {
    who: 'media.studio',
    path: '/instance/media/studio/refresh',
    body: () => ({
      csr: requestPem(registeredKey, {
        commonNames: ['media.studio'],
        altNames: [['uri', 'spiffe://signet.test/ns/default/sa/media.studio']],
      }),
      keyId: 'v1',
    }),
    removal: [
      'media',
      (content) => ({ ...content, services: content.services.map((one) => ({ ...one, publicKeys: [] })) }),
    ],
  },
  'an SSH certificate': {
    who: 'media.admin',
    path: '/sshcert',
    body: () => ({
      certRequestData: { principals: ['deploy'], publicKey: sshKey },
      certRequestMeta: { requestor: 'media.admin', certType: 'user' },
    }),
    removal: ['sys.auth', without('operators', 'ssh.deploy')],
  },
  'a join token': {
    who: 'media.admin',
    path: '/instance/sys.auth.server/media/player/late-j/token',
    body: undefined,
    removal: ['media', without('admins', 'service.player')],
  },
  'cloud credentials': {
    who: 'media.player',
    path: '/domain/catalog/role/nightly/creds',
    body: undefined,
    removal: ['catalog', withoutMember('loaders', 'media.player')],
  },
} as const satisfies Record<
  string,
  {
    readonly who: string;
    readonly path: string;
    readonly body: (() => unknown) | undefined;
    readonly removal: readonly [domain: string, edit: Edit];
  }
>;

for (const [what, { who, path, body, removal }] of Object.entries(asked)) {
  test(`removed by another server a moment before: ${what}`, async (t) => {
    const { server, other } = await everything(t);
    const call = await server.identity(who);
    const ask = () => (body === undefined ? call(path) : call(path, json(body())));
    const good = await ask();
    t.true(good.status === 200 || good.status === 201, good.text);
    const [place, edit] = removal;
    const before = await changeElsewhere(other, place, edit);
    const refused = await ask();
    t.true(refused.status === 403 || refused.status === 400, refused.text);
    await other.change({ actor: 'another server' }, (transaction) => saveDomain(transaction, before));
    t.is((await ask()).status, good.status, 'given again, and noticed as fast');
    const [domain = '', service = ''] = who.split('.');
    for (const gone of [withoutService(service), deleted(service)]) {
      await changeElsewhere(other, domain, gone);
      const nobody = await ask();
      t.true([400, 401, 403].includes(nobody.status), nobody.text);
    }
  });
}

test('removed by another server a moment before: the right to delete an instance', async (t) => {
  const { server, other } = await everything(t);
  const call = await server.identity('media.player');
  const ask = () => call('/instance/prov.cloud/catalog/api/late-x', { method: 'DELETE' });
  t.is((await ask()).status, 204);
  await changeElsewhere(other, 'catalog', without('loaders', 'instance.*'));
  t.is((await ask()).status, 403);
});

test('the certificate that asks is revoked by another server a moment before', async (t) => {
  const { server, other } = await everything(t);
  const at = Math.floor(systemClock.now() / 1000);
  for (const [what, { who, path, body }] of Object.entries(asked)) {
    const identity = await server.pki.identity(who);
    const call = server.as(identity);
    const ask = () => (body === undefined ? call(path) : call(path, json(body())));
    const good = await ask();
    t.true(good.status === 200 || good.status === 201, good.text);
    await revokeElsewhere(other, identity.certificate, who, at);
    t.is((await ask()).status, what === 'cloud credentials' ? 401 : 403, what);
  }
});

async function revokeElsewhere(store: Store, certificate: string, holder: string, at: number): Promise<void> {
  const serial = new X509Certificate(certificate).serialNumber.toLowerCase();
  const row = { serial, issuer: 'pki', kind: 'service', subject: holder, notBefore: 0, notAfter: at + 3600 } as const;
  await store.certificates.intend({ ...row, holder: parsePrincipalName(holder) }, at);
  await store.change({ actor: 'operator' }, (transaction) =>
    transaction.revokeCertificate(serial, { reason: 'key-compromise', at, by: 'operator' }),
  );
}
