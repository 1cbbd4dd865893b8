import { bearsAuthority } from '@signet/server/access/authority';
import { addressResource } from '@signet/server/x509/subject-alt-names';
import test from 'ava';

/* Every question that the server asks policies, with its action and resource as the code that asks makes them. */
const asked: readonly (readonly [action: string, resource: string])[] = [
  ['view_domain', 'film:domain'],
  ['manage_domain', 'sys.auth:domain.film'],
  ['manage_members', 'film:role.reader'],
  ['manage_members', 'film:group.team'],
  ['manage_policies', 'film:policy.p'],
  ['manage_services', 'film:service.api'],
  ['manage_keys', 'film:service.api'],
  ['assume_role', 'film:role.reader'],
  ['assume_aws_role', 'film:nightly'],
  ['ssh_login', 'film:ssh.root'],
  ['launch', 'sys.auth:instance'],
  ['launch', 'film:service.api'],
  ['launch', 'sys.auth:dns.film.test'],
  ['launch', 'sys.auth:hostname.film.test'],
  ['launch', addressResource('0a000001')],
  ['launch', addressResource('fd000000000000000000000000000001')],
  ['update', 'film:service'],
  ['update', 'film:service.api'],
  ['delete', 'film:instance.i-1'],
  ['revoke', 'sys.auth:ssh'],
  ['access_check', 'film:principal.media.player'],
];

for (const [action, resource] of asked) {
  test(`a rule for \`${action}\` on \`${resource}\` bears authority, whatever its case and wildcards`, (t) => {
    const pattern = resource.replace(/.$/, '?');
    for (const text of [resource, resource.toUpperCase(), pattern, `${resource.slice(0, -2)}*`]) {
      t.true(bearsAuthority({ action, resource: text }), text);
      t.true(bearsAuthority({ action: action.toUpperCase(), resource: text, effect: 'DENY' }), text);
      t.true(bearsAuthority({ action: `${action.slice(0, -1)}?`, resource: text }), text);
    }
  });
}

test('a rule for something else bears none', (t) => {
  for (const [action, resource] of [
    ['read', 'film:movie'],
    ['launch', 'film:rocket'],
    ['launch', 'film:addresses'],
    ['update', 'film:movie.*'],
  ] as const) {
    t.false(bearsAuthority({ action, resource }), `${action} ${resource}`);
  }
});

test('a right that is given exactly is given by no wildcard, and denied by any', (t) => {
  const written = { action: 'revoke', resource: 'films:certificate' };
  t.true(bearsAuthority(written));
  t.true(bearsAuthority({ action: 'REVOKE', resource: 'films:CERTIFICATE' }));
  for (const [action, resource] of [
    ['revok?', 'films:certificate'],
    ['r*', 'films:certificate'],
    ['*', 'films:certificate'],
    ['revoke', 'films:cert*'],
    ['revoke', 'films:certificat?'],
  ] as const) {
    t.false(bearsAuthority({ action, resource }), `${action} ${resource}`);
    t.true(bearsAuthority({ action, resource, effect: 'DENY' }), `DENY ${action} ${resource}`);
  }
  // Wildcards may still mean SSH certificates, or other objects of the server.
  t.true(bearsAuthority({ action: 'rev*', resource: 'sys.auth:*' }));
});
