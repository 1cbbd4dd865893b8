import { KeyObject } from 'node:crypto';
import {
  parseDomainName,
  parseKeyId,
  parsePathElement,
  parsePrincipalName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { DomainError } from '@signet/server/errors';
import { createRegisterToken } from '@signet/server/instances/create-register-token';
import { deleteInstance } from '@signet/server/instances/delete-instance';
import { refreshService } from '@signet/server/instances/refresh-service';
import { registerInstance } from '@signet/server/instances/register-instance';
import type { RecordingConditions } from '@signet/server/model/certificate-store';
import type { InstanceStatus } from '@signet/server/model/instance-store';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import type { Snapshot } from '@signet/server/snapshot/snapshot';
import test from 'ava';
import { type DomainSketch, domainContent, stored } from '#support/domains';
import { callerOf, type DepsSketch, instanceDeps, instanceKey, ownPair } from '#support/instance-deps';
import { ecPair, type Pair, type RequestedName, requestPem } from '#support/requests';

/* Each rule of service certificates, registrations, tokens and deletions, with stores that only note what they are asked. */

const other = ecPair();
const pemOf = ({ publicKey }: Pair) => publicKey.export({ type: 'spki', format: 'pem' }).toString();
const rules = [
  'allow update service operators',
  'allow update service.player operators',
  'allow delete instance.i-1 operators',
  'allow launch service.player provider',
];
const roles = { operators: ['media.operator'], provider: ['sys.cloud'] };

interface World {
  /** Registered keys of `media.player`. */
  readonly keys?: Readonly<Record<string, Pair>>;
  readonly domain?: DomainSketch;
}

function snapshotOf({ keys = {}, domain = {} }: World = {}): Snapshot {
  const services = ['player', 'operator', 'guest'];
  const content = stored(domainContent('media', { roles, rules, services, ...domain }));
  const withKeys = content.services.map((service) =>
    service.name === parseServiceName('player')
      ? { ...service, publicKeys: Object.entries(keys).map(([id, pair]) => ({ id: parseKeyId(id), pem: pemOf(pair) })) }
      : service,
  );
  return compileSnapshot(undefined, {
    state: { epoch: 1, counter: 1, head: '' },
    domains: [
      { ...content, services: withKeys },
      stored(domainContent('sys', { services: ['cloud'] })),
      stored(domainContent('sys.auth', { roles, rules: ['allow launch instance provider'] })),
    ],
    deleted: [],
    signingKeys: [],
  }).snapshot;
}

/** `given`, or why not. */
async function resultOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'given';
  } catch (error) {
    if (error instanceof DomainError) return error.message;
    throw error;
  }
}

interface Ask extends Omit<Partial<DepsSketch>, 'snapshot' | 'later'> {
  readonly world?: World;
  readonly later?: World;
  readonly as?: string;
  /** DNS names of the presented certificate. */
  readonly holds?: readonly string[];
  readonly pair?: Pair;
  readonly altNames?: readonly RequestedName[];
  readonly keyId?: string;
  readonly domain?: string;
}

async function refresh(ask: Ask): Promise<string[]> {
  const {
    world,
    later,
    as = 'media.player',
    holds,
    pair = ownPair,
    altNames,
    keyId,
    domain = 'media',
    ...sketch
  } = ask;
  const laterSnapshot = later && snapshotOf(later);
  const { deps, done } = instanceDeps({ snapshot: snapshotOf(world), later: laterSnapshot, ...sketch });
  const csr = requestPem(pair, { commonNames: ['media.player'], ...(altNames !== undefined && { altNames }) });
  const asked = {
    domain: parseDomainName(domain),
    service: parseServiceName('player'),
    csr,
    ...(keyId !== undefined && { keyId: parseKeyId(keyId) }),
  };
  const work = refreshService(deps, callerOf(as, holds), asked);
  const result = await resultOf(work);
  return [...done, result];
}

test.serial('a key is not compared with each of those that are registered', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, ecPair()]));
  const { equals } = KeyObject.prototype;
  let compared = 0;
  Reflect.set(KeyObject.prototype, 'equals', function (this: KeyObject, another: KeyObject) {
    compared += 1;
    return equals.call(this, another);
  });
  try {
    t.deepEqual(await refresh({ world: { keys: many } }), given(undefined));
    t.is(compared, 0);
    t.deepEqual(await refresh({ world: { keys: { ...many, own: ownPair } } }), given('own'));
    // Where it is decided, and again where it is recorded.
    t.true(compared <= 2, `${compared}`);
  } finally {
    Reflect.set(KeyObject.prototype, 'equals', equals);
  }
});

const own = { keys: { 0: ownPair } };
const given = (key: string | undefined) => [`intended service ${key}`, 'confirmed', 'given'];
const row = { kind: 'service', vouchedKey: parseKeyId('0') };
const instance = { kind: 'instance', provider: instanceKey.provider, instanceId: instanceKey.instanceId };
const current: InstanceStatus = { lineage: 'current', clientOnly: false, sshAllowed: false };
const mayNot = (who: string) => `principal \`${who}\` may not refresh \`media.player\``;
const withdrawn = 'the key `0` that vouched for the certificate is not registered any more';
const ownName = 'i-1.player.media.sys-cloud.instanceid.signet.test';
const unknown = 'the certificate of an instance is not known here, it must register again';
const held: RequestedName = ['dns', 'held.example.com'];
const cases: readonly (readonly [note: string, ask: Ask, outcome: readonly string[]])[] = [
  ['its own key, registered nowhere', {}, given(undefined)],
  ['its own key, registered', { world: { keys: { a: other, b: ownPair } } }, given('b')],
  ['its own key, vouched for by one that is there', { world: own, row }, given('0')],
  ['its own key, and the one that vouched is gone', { world: { keys: { 1: ownPair } }, row }, [withdrawn]],
  ['its own key, and the one that vouched is another', { world: { keys: { 0: other } }, row }, [withdrawn]],
  [
    'another key',
    { pair: other },
    ['csr public key must be the one of the presented certificate, or name its `keyId`'],
  ],
  ['another key by its id', { world: { keys: { 0: other } }, pair: other, keyId: '0' }, given('0')],
  ['an id that is not there', { keyId: '0' }, ['service `player` has no public key `0`']],
  [
    'an id of another key',
    { world: { keys: { 0: other } }, keyId: '0' },
    ['csr public key must be the registered key `0`'],
  ],
  // Who may ask.
  ['an operator by a key of the service', { as: 'media.operator', world: own, keyId: '0' }, given('0')],
  ['an operator without one', { as: 'media.operator', world: own }, [mayNot('media.operator')]],
  ['somebody else by a key of the service', { as: 'media.guest', world: own, keyId: '0' }, [mayNot('media.guest')]],
  [
    'an operator who is none by then',
    { as: 'media.operator', world: own, keyId: '0', later: { ...own, domain: { rules: [] } } },
    ['intended service 0', mayNot('media.operator')],
  ],
  ['a key that is gone by then', { world: own, row, later: {} }, ['intended service 0', withdrawn]],
  ['a domain that is not there', { domain: 'far' }, ['domain `far` does not exist']],
  [
    'a service that is disabled',
    { world: { domain: { services: [{ name: 'player', enabled: false }] } } },
    ['service `player` is not registered in domain `media`'],
  ],
  // Names.
  ['a DNS name that it holds', { holds: ['held.example.com'], altNames: [held] }, given(undefined)],
  [
    'a DNS name that it does not hold',
    { altNames: [held] },
    ['csr dns name `held.example.com` is not one that `media.player` may hold'],
  ],
  [
    'a DNS name that the operator holds',
    { as: 'media.operator', world: own, keyId: '0', holds: ['held.example.com'], altNames: [held] },
    ['csr dns name `held.example.com` is not one that `media.player` may hold'],
  ],
  [
    'its own address, without a right',
    { altNames: [['ip', Buffer.of(10, 0, 0, 1)]] },
    ['csr ip name `10.0.0.1` needs `launch` on `sys.auth:address.10.0.0.1` for `media.player`'],
  ],
  [
    'the address of an operator',
    { as: 'media.operator', world: own, keyId: '0', altNames: [['ip', Buffer.of(10, 0, 0, 1)]] },
    ['csr ip name `10.0.0.1` is not the address that the request comes from'],
  ],
  // Instances keep to their lineage.
  [
    'a certificate of an instance',
    { row: instance, status: current },
    ['asked to refresh', 'intended instance undefined', 'rotated, SSH true', 'given'],
  ],
  [
    'a certificate of an instance, with a key of the service',
    { row: instance, status: current, world: own, keyId: '0' },
    ['asked to refresh', 'intended instance undefined', 'rotated, SSH true', 'given'],
  ],
  [
    'a certificate of an instance that is revoked',
    { row: instance, status: { ...current, lineage: 'revoked' } },
    ['the instance is revoked, it must register again'],
  ],
  ['a certificate of an instance that is not known', { holds: [ownName] }, [unknown]],
  [
    'an operator with a certificate of an instance that is not known',
    { as: 'media.operator', holds: [ownName], world: own, keyId: '0' },
    given('0'),
  ],
  [
    'an operator with a certificate of an instance',
    { as: 'media.operator', row: { ...instance, vouchedKey: undefined }, world: own, keyId: '0' },
    given('0'),
  ],
];
for (const [note, ask, expected] of cases) {
  test(`a service certificate: ${note}`, async (t) => t.deepEqual(await refresh(ask), [...expected]));
}

const information = {
  ...instanceKey,
  attestationData: 'x',
  csr: requestPem(ownPair, { commonNames: ['media.player'] }),
  ssh: undefined,
  requestedSeconds: undefined,
  hostname: undefined,
  cloud: undefined,
};
const details = '{"clientOnly":false,"sshAllowed":true}';
const [asked, intended] = ['asked to register', 'intended instance undefined'];
const registrations: readonly (readonly [note: string, sketch: Partial<DepsSketch>, outcome: readonly string[]])[] = [
  ['one that is recorded', {}, [asked, intended, `registered ${details}`, 'given']],
  ['one that is not', { attested: { recorded: false } }, [asked, intended, 'confirmed', 'given']],
  [
    'one for clients',
    { attested: { usage: 'client' } },
    [asked, intended, `registered ${details.replace('false', 'true')}`, 'given'],
  ],
  ['one for servers', { attested: { usage: 'server' } }, [asked, intended, `registered ${details}`, 'given']],
  [
    'one that may not be launched by then',
    { later: snapshotOf({ domain: { rules: [] } }) },
    [
      asked,
      intended,
      'provider `sys.cloud` is not authorized to launch `media.player` instances: it needs `launch` on `media:service.player`',
    ],
  ],
  [
    'one that is not recorded, and may not be launched by then',
    { later: snapshotOf({ domain: { rules: [] } }), attested: { recorded: false } },
    [
      asked,
      intended,
      'provider `sys.cloud` is not authorized to launch `media.player` instances: it needs `launch` on `media:service.player`',
    ],
  ],
  [
    'one whose provider is gone by then',
    { later: snapshotOf(), providers: [true, false] },
    [asked, intended, 'provider `sys.cloud` has no endpoint to ask'],
  ],
];
for (const [note, sketch, expected] of registrations) {
  test(`a registration: ${note}`, async (t) => {
    const { deps, done } = instanceDeps({ snapshot: snapshotOf(), ...sketch });
    const result = await resultOf(registerInstance(deps, { address: '10.0.0.1' }, information));
    t.deepEqual([...done, result], [...expected]);
  });
}

test('an SSH certificate at the registration', async (t) => {
  const ssh = { ...information, ssh: 'ssh' };
  const { deps } = instanceDeps({ snapshot: snapshotOf() });
  t.is((await registerInstance(deps, { address: '10.0.0.1' }, ssh)).sshCertificate, 'ssh');
  t.is((await registerInstance(deps, { address: '10.0.0.1' }, information)).sshCertificate, undefined);
});

const removed = ['instance removed', 'told', 'given'];
const mayNotDelete = (who: string) => `principal \`${who}\` may not delete this instance`;
const deletions: readonly (readonly [
  caller: string,
  key: object,
  later: World | undefined,
  outcome: readonly string[],
])[] = [
  ['sys.cloud', {}, undefined, removed],
  ['media.operator', {}, undefined, removed],
  ['media.operator', { instanceId: parsePathElement('i-2') }, undefined, [mayNotDelete('media.operator')]],
  ['media.guest', {}, undefined, [mayNotDelete('media.guest')]],
  ['sys.cloud', { domain: parseDomainName('far') }, undefined, ['domain `far` does not exist']],
  ['media.operator', {}, { domain: { rules: [] } }, [mayNotDelete('media.operator')]],
  ['sys.cloud', {}, { domain: { enabled: false } }, ['domain `media` does not exist']],
];
for (const [caller, key, later, expected] of deletions) {
  test(`a deletion by ${caller} of ${Object.values(key).join()}, ${JSON.stringify(later)}`, async (t) => {
    const { deps, done } = instanceDeps({ snapshot: snapshotOf(), later: later && snapshotOf(later) });
    const asker = { principal: parsePrincipalName(caller) };
    const work = deleteInstance(deps, asker, { ...instanceKey, ...key }, { actor: caller });
    const result = await resultOf(work);
    t.deepEqual([...done, result], [...expected]);
  });
}

const mayNotRegister = (who: string) =>
  `principal \`${who}\` may not register instances of \`media.player\`: it needs \`update\` on \`media:service.player\``;
const tokens: readonly (readonly [caller: string, provider: string, later: World | undefined, outcome: string])[] = [
  ['media.operator', 'sys.cloud', undefined, 'given'],
  ['media.guest', 'sys.cloud', undefined, mayNotRegister('media.guest')],
  ['media.operator', 'sys.other', undefined, 'provider `sys.other` gives no registration tokens'],
  ['media.operator', 'sys.cloud', { domain: { rules: [] } }, mayNotRegister('media.operator')],
  [
    'media.operator',
    'sys.cloud',
    { domain: { services: ['operator'] } },
    'service `player` is not registered in domain `media`',
  ],
];
for (const [caller, provider, later, expected] of tokens) {
  test(`a registration token for ${caller} of ${provider}, ${JSON.stringify(later)}`, async (t) => {
    const { deps } = instanceDeps({ snapshot: snapshotOf(), later: later && snapshotOf(later) });
    let reached = false;
    const addJoinToken = async (_digest: string, _token: object, { decide }: RecordingConditions) => {
      reached = true;
      await decide(undefined as never);
    };
    const tokenDeps = {
      ...deps,
      joinTokenProvider: instanceKey.provider,
      joinTokenSeconds: 60,
      instances: { addJoinToken },
    };
    const key = { ...instanceKey, provider: parsePrincipalName(provider) };
    const work = createRegisterToken(tokenDeps as never, { principal: parsePrincipalName(caller) }, key);
    t.is(await resultOf(work), expected);
    t.is(reached, expected === 'given' || later !== undefined, 'who has no right holds up nobody who writes');
  });
}

test('a service that is not there gets no registration token', async (t) => {
  const { deps } = instanceDeps({ snapshot: snapshotOf({ domain: { services: ['operator'] } }) });
  const work = createRegisterToken(
    { ...deps, joinTokenProvider: instanceKey.provider } as never,
    { principal: parsePrincipalName('media.operator') },
    instanceKey,
  );
  t.is(await resultOf(work), 'service `player` is not registered in domain `media`');
});
