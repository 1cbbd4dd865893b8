import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@signet/policy-engine/clock';
import {
  parseDomainName,
  parseKeyId,
  parsePathElement,
  parsePrincipalName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { exactKeyId } from '@signet/server/base/registered-key';
import { CredentialsCache } from '@signet/server/cloud/credentials-cache';
import { getCredentials } from '@signet/server/cloud/get-credentials';
import { DomainError } from '@signet/server/errors';
import { plainlyAttested } from '@signet/server/instances/attestation/attestation';
import type { InstanceDeps } from '@signet/server/instances/instance-deps';
import { refreshInstance } from '@signet/server/instances/refresh-instance';
import { refreshService } from '@signet/server/instances/refresh-service';
import { registerInstance } from '@signet/server/instances/register-instance';
import { reservedAddresses } from '@signet/server/instances/reserved-addresses';
import type { CertificateStore, RecordingConditions } from '@signet/server/model/certificate-store';
import type { InstanceStore } from '@signet/server/model/instance-store';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { certificateLogIn } from '@signet/server/ssh/certificate-log';
import { issueUserCertificate } from '@signet/server/ssh/issue-ssh';
import { sshAuthorityOf } from '@signet/server/ssh/ssh-authority';
import { parseSshCertRequest } from '@signet/server/ssh/ssh-csr';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import { openStore } from '@signet/server/store/open';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { certificatesInPem } from '@signet/server/x509/certificate-reader';
import { issueRoleCertificate } from '@signet/server/x509/issue-role-certificate';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { signetForms } from '@signet/server/x509/name-forms';
import test, { type ExecutionContext } from 'ava';
import { type DomainSketch, domainContent } from '#support/domain-sketch';
import { instanceDomains, instanceNames } from '#support/instance-world';
import { createPki } from '#support/pki';
import { ecPair, requestPem } from '#support/requests';
import { saveDomain } from '#support/save-domain';
import { type StoreKind, storeKinds } from '#support/store-kinds';

/*
 * A server whose snapshot never looks at the store by itself gives things out, while another one on the same store takes the right away. None
 * of 10,000 is given out once the removal is acknowledged. The snapshot that decides first always says yes.
 */

/** On SQLite, where the two meet less often than on a database with processes of its own. */
const mostRounds = 20;
const asked = 100;
const lanes = 20;

const [system, prov, media, catalog] = instanceDomains;
const registered = ecPair();
const pem = registered.publicKey.export({ type: 'spki', format: 'pem' }).toString();

/** The domains with every right, and of each kind the domain without its right. */
const granted = {
  system: {
    ...system,
    roles: { ...system.roles, operators: ['media.admin'] },
    policies: { ...system.policies, logins: [['ALLOW', 'operators', 'ssh_login', 'ssh.deploy']] },
  },
  media: { ...media, services: { ...media.services, studio: { v1: pem } } },
  catalog: {
    ...catalog,
    roles: { reader: ['media.player'], loaders: ['media.player'] },
    policies: { cloud: [['ALLOW', 'loaders', 'assume_aws_role', 'nightly']] },
  },
} as const satisfies Record<string, DomainSketch>;

const account = '123456789012';

/** Permitted results of one round's recordings. */
interface Round {
  acknowledged: boolean;
  /** The change counter of the store as of each recording that was let through, and whether it began after the acknowledgement. */
  readonly recorded: { readonly counter: number; readonly late: boolean }[];
}

/** Notes when something was recorded: one that asks nothing counts as recorded after every removal. */
async function noting<Result>(
  round: Round,
  conditions: RecordingConditions | undefined,
  record: (conditions: RecordingConditions | undefined) => Promise<Result>,
): Promise<Result> {
  const late = round.acknowledged;
  let counter = Number.POSITIVE_INFINITY;
  const decide: RecordingConditions['decide'] = async (source) => {
    ({ counter } = await source.state());
    await conditions?.decide(source);
  };
  const result = await record(conditions && { ...conditions, decide });
  round.recorded.push({ counter, late });
  return result;
}

function watched(
  certificates: CertificateStore,
  instances: InstanceStore,
  current: () => Round,
): { readonly certificates: CertificateStore; readonly instances: InstanceStore } {
  const bound = <Target extends object>(target: Target, replaced: Partial<Target>): Target =>
    new Proxy(target, {
      get: (of, name) => {
        const own: unknown = Reflect.get(replaced, name) ?? Reflect.get(of, name);
        return typeof own === 'function' ? own.bind(of) : own;
      },
    });
  return {
    certificates: bound(certificates, {
      confirm: (serial, print, conditions) =>
        noting(current(), conditions, (noted) => certificates.confirm(serial, print, noted)),
    }),
    instances: bound(instances, {
      register: (key, given, details, conditions) =>
        noting(current(), conditions, (noted) => instances.register(key, given, details, noted)),
      rotate: (key, presented, given, conditions) =>
        noting(current(), conditions, (noted) => instances.rotate(key, presented, given, noted)),
    }),
  };
}

async function twoServers(t: ExecutionContext, { place }: StoreKind) {
  const at = await place(t);
  const [store, other] = [await openStore(at), await openStore(at)];
  const save = async (content: ReturnType<typeof domainContent>) => {
    await other.change({ actor: 'other' }, (transaction) => saveDomain(transaction, content));
    return (await other.state()).counter;
  };
  for (const domain of [granted.system, prov, granted.media]) await save(domainContent(domain));
  await save({ ...domainContent(granted.catalog), accounts: { aws: account } });
  const live = await openLiveSnapshot({ store, clock: systemClock, refreshIntervalMs: 3_600_000 });
  t.teardown(async () => {
    await live.close();
    await store.close();
    await other.close();
  });
  let round: Round = { acknowledged: false, recorded: [] };
  const { root, intermediate } = await createAuthorities(systemClock);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const seen = watched(store.certificates, store.instances, () => round);
  const rules = { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms };
  const deps: InstanceDeps = {
    ...seen,
    store,
    clock: systemClock,
    randomBytes,
    snapshot: () => live.current(),
    snapshotAt: live.at,
    issuers: {
      signing: () => issuer,
      current: () => ({ active: [issuer], draining: [], rootsPem: root.certificate, rootLists: [] }),
    },
    rules,
    findKeyId: exactKeyId,
    hosts: { rules, isServerHost: (host) => host === 'localhost' },
    reservedAddresses: reservedAddresses({ configured: [] }),
    limits: { serviceDefaultSeconds: 600, serviceMaxSeconds: 600, roleDefaultSeconds: 600, roleMaxSeconds: 600 },
    findProvider: () => ({ attest: async () => plainlyAttested }),
    noteForeignRefresh: async () => undefined,
    onRevoked: async () => undefined,
  };
  const begin = (next: Round) => {
    round = next;
  };
  return { store, other, live, save, deps, current: () => round, begin };
}

type Servers = Awaited<ReturnType<typeof twoServers>>;

const player = parsePrincipalName('media.player');
/** A certificate that the store does not know, of the time before any name was used again. */
const unrecorded = { serial: '01', issuedAt: 0 };
const instance = {
  provider: parsePrincipalName('prov.cloud'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
};

interface Kind {
  readonly with: ReturnType<typeof domainContent>;
  readonly without: ReturnType<typeof domainContent>;
  /** Prepares what asks; each call of the answer asks once. */
  readonly prepare: (servers: Servers) => Promise<(index: number) => Promise<unknown>>;
}

const instanceAt = (index: number) => ({ ...instance, instanceId: parsePathElement(`i-${index}`) });

/** Starts the lineage of each instance that will refresh. */
async function startLineages({ store }: Servers): Promise<void> {
  for (let index = 0; index < asked; index += 1) {
    const [key, serial] = [instanceAt(index), `${index}`.padStart(32, '0')];
    const row = { serial, issuer: 'i', kind: 'instance', subject: player, notBefore: 0, notAfter: 2 ** 40 } as const;
    await store.certificates.intend({ ...row, holder: player, provider: key.provider, instanceId: key.instanceId }, 0);
    await store.instances.register(key, { serial, fingerprint: 'f', notAfter: 2 ** 40 }, { clientOnly: false, at: 0 });
  }
}

const kinds: Readonly<Record<string, Kind>> = {
  'role certificates': {
    with: { ...domainContent(granted.catalog), accounts: { aws: account } },
    without: {
      ...domainContent({ ...granted.catalog, roles: { loaders: ['media.player'] } }),
      accounts: { aws: account },
    },
    prepare: async ({ deps }) => {
      const csr = requestPem(ecPair(), { commonNames: ['catalog:role.reader'] });
      const roles = { ...deps, isSharedAddress: () => false };
      return () =>
        issueRoleCertificate(roles, player, {
          csr,
          heldDnsNames: new Set(),
          address: '10.0.0.1',
          presented: unrecorded,
        });
    },
  },
  'instances that register': {
    with: domainContent(granted.media),
    without: domainContent({ ...granted.media, policies: {} }),
    prepare: async ({ deps }) => {
      const csr = requestPem(ecPair(), { commonNames: ['media.player'], altNames: instanceNames('i-1') });
      const body = { csr, attestationData: 'x', ssh: undefined, requestedSeconds: undefined };
      const information = { ...instance, ...body, hostname: undefined, cloud: undefined, instanceId: undefined };
      return () => registerInstance(deps, { address: '127.0.0.1' }, information);
    },
  },
  'instances that refresh': {
    with: domainContent(granted.media),
    without: domainContent({ ...granted.media, services: { ...granted.media.services, player: false } }),
    prepare: async (servers) => {
      const { deps, store } = servers;
      const pair = ecPair();
      await startLineages(servers);
      return async (index) => {
        const key = instanceAt(index);
        const csr = requestPem(pair, { commonNames: ['media.player'], altNames: instanceNames(key.instanceId) });
        const serial = (await store.instances.find(key))?.currentSerial ?? '';
        const certificate = { serial, der: Buffer.alloc(0), issuedAt: 0, notAfter: 2 ** 50 };
        const caller = { principal: player, certificate, address: '127.0.0.1', requestId: 'r' };
        const nothing = { attestationData: '', ssh: undefined, hostname: undefined, cloud: undefined };
        return refreshInstance(deps, caller, key, { ...nothing, csr, requestedSeconds: undefined });
      };
    },
  },
  'service refresh': {
    with: domainContent(granted.media),
    without: domainContent({ ...granted.media, services: { ...granted.media.services, studio: {} } }),
    prepare: async ({ deps }) => {
      const [der = Buffer.alloc(0)] = certificatesInPem(
        (await (await createPki()).identity('media.studio')).certificate,
      );
      const certificate = { serial: '02', der, issuedAt: 0, notAfter: 2 ** 50 };
      const caller = {
        principal: parsePrincipalName('media.studio'),
        certificate,
        address: '127.0.0.1',
        requestId: 'r',
      };
      const altNames = [['uri', 'spiffe://signet.test/ns/default/sa/media.studio']] as const;
      const csr = requestPem(registered, { commonNames: ['media.studio'], altNames });
      const refresh = { ...instance, service: parseServiceName('studio'), csr, keyId: parseKeyId('v1') };
      return () => refreshService(deps, caller, refresh);
    },
  },
  'service refresh with a principal token': {
    with: domainContent(granted.media),
    without: domainContent({ ...granted.media, services: { ...granted.media.services, studio: {} } }),
    prepare: async ({ deps }) => {
      const principal = parsePrincipalName('media.studio');
      const holder = { principal, keyId: parseKeyId('v1'), issuedAt: 0, address: '127.0.0.1' };
      const csr = requestPem(registered, { commonNames: ['media.studio'] });
      const refresh = { ...instance, service: parseServiceName('studio'), csr };
      return () => refreshService(deps, holder, refresh);
    },
  },
  'SSH certificates': {
    with: domainContent(granted.system),
    without: domainContent({ ...granted.system, roles: { ...granted.system.roles, operators: [] } }),
    prepare: async ({ deps }) => {
      const signer = sshAuthorityOf(generateKeyPairSync('ed25519').privateKey);
      const publicKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));
      const request = parseSshCertRequest({
        certRequestData: { principals: ['deploy'], publicKey },
        certRequestMeta: { requestor: 'media.admin', certType: 'user' },
      });
      const rules = { hostExpirySeconds: 60, userExpirySeconds: 60, extensions: [], sourceAddresses: [] };
      const issuing = {
        ...deps,
        authorities: { user: signer },
        rules,
        loginDomain: parseDomainName('sys.auth'),
        log: certificateLogIn(deps.certificates, systemClock),
      };
      const asking = { ...unrecorded, notAfter: 2 ** 40 };
      return () => issueUserCertificate(issuing, { principal: parsePrincipalName('media.admin'), asking }, request);
    },
  },
  'cloud credentials': {
    with: { ...domainContent(granted.catalog), accounts: { aws: account } },
    without: {
      ...domainContent({ ...granted.catalog, roles: { reader: ['media.player'] } }),
      accounts: { aws: account },
    },
    prepare: async ({ deps, live, store, current }) => {
      const credentials = { accessKeyId: 'a', secretAccessKey: 'b', sessionToken: 'c', expiration: 2 ** 50 };
      // Duration of the removal's write, so that it falls between.
      const cloudTurns = 300;
      let calls = 0;
      const assume = async () => {
        for (let turn = 0; turn < cloudTurns; turn += 1) await nextTurn();
        return credentials;
      };
      const cache = new CredentialsCache(assume, systemClock);
      return (index) => {
        // Half of them from the cache. There is no transaction: the last thing before the answer is the look at the store.
        const durationSeconds = index % 2 === 0 ? 900 : 1000 + calls++;
        const request = { domain: parseDomainName('catalog'), role: 'nightly', durationSeconds };
        return noting(current(), { decide: async () => undefined }, (noted) => {
          const latest = async () => {
            await noted?.decide(store);
            return live.at(store);
          };
          return getCredentials({ ...deps, latest, cache }, { principal: player, certificate: unrecorded }, request);
        });
      };
    },
  },
};

/** Settles in a lane, one after the other. */
async function inTurn(indices: readonly number[], ask: (index: number) => Promise<unknown>): Promise<boolean[]> {
  const outcomes: boolean[] = [];
  for (const index of indices) {
    const given = await ask(index).then(
      () => true,
      (error: unknown) => (error instanceof DomainError ? false : Promise.reject(error)),
    );
    outcomes.push(given);
  }
  return outcomes;
}

/** Requests in several lanes, and removes the right after `removeAfter` grants. */
async function race(servers: Servers, kind: Kind, ask: (index: number) => Promise<unknown>, removeAfter: number) {
  await servers.save(kind.with);
  await servers.live.refresh();
  const round: Round = { acknowledged: false, recorded: [] };
  servers.begin(round);
  const all = Array.from({ length: asked }, (_, index) => index);
  const asking = Promise.all(
    Array.from({ length: lanes }, (_, lane) =>
      inTurn(
        all.filter((index) => index % lanes === lane),
        ask,
      ),
    ),
  );
  while (round.recorded.length < removeAfter) await nextTurn();
  const removedAt = await servers.save(kind.without);
  round.acknowledged = true;
  const outcomes = (await asking).flat();
  const given = outcomes.filter((one) => one).length;
  const late = round.recorded.filter((one) => one.late || one.counter >= removedAt).length;
  return { given, refused: asked - given, recorded: round.recorded.length, late };
}

const madeAnew: Readonly<Record<keyof typeof kinds, readonly ('media' | 'prov')[]>> = {
  'role certificates': ['media'],
  'instances that register': ['media', 'prov'],
  'instances that refresh': ['media', 'prov'],
  'service refresh': ['media'],
  'service refresh with a principal token': ['media'],
  'SSH certificates': ['media'],
  'cloud credentials': ['media'],
};

for (const [index, store] of storeKinds.entries()) {
  const rounds = index === 0 ? mostRounds : mostRounds / 10;
  for (const [name, kind] of Object.entries(kinds)) {
    test.serial(
      `none of ${rounds * asked} is given once the removal is acknowledged: ${name}, ${store.name}`,
      async (t) => {
        t.timeout(600_000);
        const servers = await twoServers(t, store);
        const ask = await kind.prepare(servers);
        const results: Awaited<ReturnType<typeof race>>[] = [];
        for (let index = 0; index < rounds; index += 1) {
          results.push(await race(servers, kind, ask, Math.floor((index * asked) / rounds / 2)));
        }
        const sum = (key: keyof (typeof results)[number]) => results.reduce((total, result) => total + result[key], 0);
        t.is(sum('late'), 0);
        t.is(sum('given'), sum('recorded'), 'what is given was recorded');
        const mixed = results.filter(({ given, refused }) => given > 0 && refused > 0).length;
        t.log(`given ${sum('given')}, refused ${sum('refused')}, both in ${mixed} of ${rounds} rounds`);
        t.true(sum('given') > 0 && sum('refused') > 0, 'both happened');
      },
    );
  }

  for (const [name, kind] of Object.entries(kinds)) {
    for (const domain of madeAnew[name] ?? []) {
      test.serial(
        `nothing is given once the services of \`${domain}\` are others of the same names: ${name}, ${store.name}`,
        async (t) => {
          const servers = await twoServers(t, store);
          const ask = await kind.prepare(servers);
          await servers.save(kind.with);
          await servers.live.refresh();
          servers.begin({ acknowledged: false, recorded: [] });
          await t.notThrowsAsync(ask(0));
          const whole = domainContent(domain === 'media' ? granted.media : prov);
          await servers.save({ ...whole, services: [] });
          await servers.save(whole);
          t.true((await t.throwsAsync(ask(1))) instanceof DomainError);
        },
      );
    }
  }
}
