import { parseDomainName, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { ForbiddenError } from '@signet/server/errors';
import {
  authorizeLaunch,
  mayUseAddress,
  mayUseDnsSuffix,
  mayVouchForHost,
} from '@signet/server/instances/launch-authorization';
import test from 'ava';
import { snapshotOf } from '#support/domains';

/* Rights of a provider to launch and attest, rule by rule. */

const provider = parsePrincipalName('cloud.provider');
const tenant = { domain: parseDomainName('media'), service: parseServiceName('player') };
const roles = { providers: ['cloud.provider'] };

const authorized = (system: readonly string[], own: readonly string[] | undefined): string => {
  const media = own === undefined ? {} : { media: { roles, rules: own } };
  const snapshot = snapshotOf({ 'sys.auth': { roles, rules: system }, ...media });
  try {
    authorizeLaunch(snapshot, provider, tenant, 1);
    return 'authorized';
  } catch (error) {
    if (error instanceof ForbiddenError) return error.message;
    throw error;
  }
};
const any = 'allow launch instance providers';
const service = 'allow launch service.player providers';
const notAny =
  'provider `cloud.provider` is not authorized to launch instances: it needs `launch` on `sys.auth:instance`';
const notThis =
  'provider `cloud.provider` is not authorized to launch `media.player` instances: it needs `launch` on `media:service.player`';
const launches: [note: string, system: readonly string[], own: readonly string[] | undefined, expected: string][] = [
  ['by both domains', [any], [service], 'authorized'],
  ['by neither', [], [], notAny],
  ['by the domain of the service alone', [], [service], notAny],
  ['by the system domain alone', [any], [], notThis],
  ['denied by the system domain', [any, 'deny launch instance providers'], [service], notAny],
  ['denied by the domain of the service', [any], [service, 'deny launch service.player providers'], notThis],
  ['for another service', [any], ['allow launch service.play providers'], notThis],
  ['for a domain that is not there', [any], undefined, notThis],
];
for (const [note, system, own, expected] of launches) {
  test(`a launch that is allowed ${note}`, (t) => t.is(authorized(system, own), expected));
}

test('a provider that is disabled, or no service at all, is told so', (t) => {
  const domains = { 'sys.auth': { roles, rules: [any] }, media: { roles, rules: [service] } };
  const off = snapshotOf({ ...domains, cloud: { services: [{ name: 'provider', enabled: false }] } });
  for (const snapshot of [off, { ...snapshotOf(domains), isPart: false }]) {
    t.throws(() => authorizeLaunch(snapshot, provider, tenant, 1), {
      message:
        'provider `cloud.provider` is not authorized to launch instances: it is not registered and enabled as a service',
    });
  }
});

test('names and addresses need their own right of the system domain', (t) => {
  const snapshot = snapshotOf({
    'sys.auth': {
      roles,
      rules: [
        'allow launch dns.pods.example providers',
        'allow launch address.10.1.* providers',
        'deny launch address.10.1.1.255 providers',
        'deny launch dns.closed.example providers',
      ],
    },
  });
  t.true(mayUseDnsSuffix(snapshot, provider, 'pods.example', 1));
  t.false(mayUseDnsSuffix(snapshot, provider, 'example', 1));
  t.false(mayUseDnsSuffix(snapshot, provider, 'closed.example', 1));
  t.true(mayUseAddress(snapshot, provider, '0a010101', 1));
  t.false(mayUseAddress(snapshot, provider, '0a0101ff', 1));
  t.false(mayUseAddress(snapshot, provider, '0a020101', 1));
  const empty = snapshotOf({});
  t.false(mayUseDnsSuffix(empty, provider, 'pods.example', 1));
  t.false(mayUseAddress(empty, provider, '0a010101', 1));
});

const vouches = (host: string, ...rules: readonly string[]) =>
  mayVouchForHost(snapshotOf({ 'sys.auth': { roles, rules } }), provider, host, 1);
const allow = (end: string) => `allow launch hostname.${end} providers`;
const deny = (end: string) => `deny launch hostname.${end} providers`;

test('a host is vouched for by an end of its name that is allowed while none is denied', (t) => {
  t.true(vouches('a.b.example', allow('b.example')));
  t.true(vouches('a.b.example', allow('example')));
  t.false(vouches('a.b.example', allow('other')));
  t.false(vouches('a.b.example', allow('example'), deny('b.example')));
  t.false(vouches('a.b.example', deny('example'), allow('b.example')));
  t.false(vouches('a.b.example'));
});

test('localhost is vouched for by its own name alone, and is not an end of others', (t) => {
  t.true(vouches('localhost', allow('localhost')));
  t.false(vouches('localhost', allow('example')));
  t.false(vouches('example', allow('example')));
});

test('a host of twelve labels is looked at, one of thirteen is not', (t) => {
  const labels = (count: number) => [...Array.from({ length: count - 1 }, () => 'a'), 'example'].join('.');
  t.true(vouches(labels(12), allow('example')));
  t.false(vouches(labels(13), allow('*')));
});
