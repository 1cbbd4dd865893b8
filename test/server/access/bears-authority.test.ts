import { bearsAuthority } from '@signet/server/access/authority';
import test from 'ava';

/* Authority of assertions: by action, object and effect. */

const cases: [effect: 'ALLOW' | 'DENY', action: string, resource: string, expected: boolean][] = [
  ['ALLOW', 'manage_members', 'role.reader', true],
  ['ALLOW', 'MANAGE_members', 'media:ROLE.reader', true],
  ['ALLOW', 'manage_members', 'domain', true],
  ['ALLOW', 'manage_members', 'film', false],
  ['ALLOW', 'manage_members', 'roles.reader', false],
  ['ALLOW', 'manage_members', '*', true],
  ['ALLOW', 'manage_members', 'ro*', true],
  ['ALLOW', 'manage_members', 'role.re?der', true],
  ['ALLOW', 'manage_members', 'film*', false],
  ['ALLOW', 'manage_*', 'role.reader', true],
  ['ALLOW', 'read', 'role.reader', false],
  // Wildcards alone give nothing that is given by its name, and take it away.
  ['ALLOW', '*', 'group.team', false],
  ['DENY', '*', 'film', false],
  ['DENY', 'manage_members', 'film', false],
  ['DENY', '?*', 'group.team', true],
  ['DENY', 'manage_members', 'group.team', true],
  ['ALLOW', 'assume_aws_role', 'anything', true],
  ['ALLOW', 'assume_aws_*', 'anything', true],
  ['ALLOW', '*', 'anything', false],
  // These are given by wildcards as well.
  ['ALLOW', '*', 'role.reader', true],
  ['ALLOW', 'assume_role', 'role.reader', true],
  ['ALLOW', 'assume_role', 'group.team', false],
  ['ALLOW', 'ssh_login', 'ssh.root', true],
  ['ALLOW', '*', 'ssh.root', true],
  ['ALLOW', 'launch', 'service.api', true],
  ['ALLOW', 'launch', 'dns.example', true],
  ['ALLOW', 'launch', 'hostname.example', true],
  ['ALLOW', 'launch', 'instance', true],
  ['ALLOW', 'launch', 'role.reader', false],
  ['ALLOW', 'update', 'service', true],
  ['ALLOW', 'update', 'services', false],
  ['ALLOW', 'delete', 'instance.i-1', true],
  ['ALLOW', 'revoke', 'ssh.1', true],
  ['ALLOW', 'access_check', 'principal.user.joe', true],
];
for (const [effect, action, resource, expected] of cases) {
  test(`${effect} ${action} ${resource}: ${expected ? 'authority' : 'none'}`, (t) => {
    t.is(bearsAuthority({ effect, action, resource }), expected);
    if (effect === 'ALLOW') t.is(bearsAuthority({ action, resource }), expected);
  });
}
