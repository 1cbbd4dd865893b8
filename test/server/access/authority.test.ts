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

/* Actions that an assertion must write without wildcards, action and resource. */
const exact: readonly (readonly [action: string, resource: string])[] = [
  ['revoke', 'films:certificate'],
  ['approve_changes', 'films:domain'],
  ['approve_changes', 'films:role.publisher'],
  ['break_glass', 'films:domain'],
  ['apply_reviewed', 'films:domain'],
];

for (const [action, resource] of exact) {
  test(`\`${action}\` on \`${resource}\` is given by no wildcard, and denied by any`, (t) => {
    t.true(bearsAuthority({ action, resource }));
    t.true(bearsAuthority({ action: action.toUpperCase(), resource: resource.toUpperCase() }));
    for (const [actions, resources] of [
      [`${action.slice(0, -1)}?`, resource],
      [`${action.slice(0, 5)}*`, resource],
      [action, `${resource.slice(0, 10)}*`],
      [action, `${resource.slice(0, -1)}?`],
    ] as const) {
      t.false(bearsAuthority({ action: actions, resource: resources }), `${actions} ${resources}`);
      t.true(bearsAuthority({ action: actions, resource: resources, effect: 'DENY' }), `DENY ${actions} ${resources}`);
    }
  });
}

test('a rule with wildcards may still mean other objects of the server', (t) => {
  t.false(bearsAuthority({ action: '*', resource: 'films:certificate' }));
  t.true(bearsAuthority({ action: 'rev*', resource: 'sys.auth:*' }));
});
