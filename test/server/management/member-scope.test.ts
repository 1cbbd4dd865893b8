import { parseDomainName, parseGroupName, parseRoleName } from '@signet/policy-engine/names';
import { noMembers, readForChange } from '@signet/server/management/member-scope';
import type { DomainContent } from '@signet/server/model/records';
import type { DomainScope } from '@signet/server/model/store';
import test from 'ava';
import { type DomainSketch, domainContent } from '#support/domain-sketch';

/* What of a domain is read before a change: all administrators as soon as one of them is touched. */

const media = parseDomainName('media');
const usual: DomainSketch = {
  name: 'media',
  roles: { admin: ['user.boss', 'media:group.chiefs'], reader: ['user.ann'] },
  groups: { chiefs: ['user.joe'], crew: ['user.ann'] },
};

/** Answers as the store does, and notes what it was asked. */
function readerOf(sketch: DomainSketch | undefined) {
  const asked: string[] = [];
  const content = sketch && domainContent(sketch);
  const inScope = ({ roles, groups, names }: DomainScope): DomainContent | undefined => {
    const cut = <List extends DomainContent['roles'][number] | DomainContent['groups'][number]>(
      list: List,
      whole: readonly string[],
    ): List => ({
      ...list,
      members: whole.includes(list.name) ? list.members : list.members.filter(({ name }) => names.includes(name)),
    });
    return (
      content && {
        ...content,
        roles: content.roles.map((role) => cut(role, roles)),
        groups: content.groups.map((group) => cut(group, groups)),
      }
    );
  };
  const reader = {
    excerpt: async (_: unknown, scope: DomainScope) => {
      asked.push(`roles ${scope.roles.join()} groups ${scope.groups.join()} names ${scope.names.join()}`);
      const part = inScope(scope);
      return part && { content: part, otherMembers: 1 };
    },
    domain: async () => content,
  };
  return { reader: reader as never, asked };
}

const cases: readonly (readonly [
  note: string,
  sketch: DomainSketch | undefined,
  scope: DomainScope,
  asked: readonly string[],
])[] = [
  ['nobody', usual, noMembers, ['roles  groups  names ']],
  ['a domain that is not there', undefined, noMembers, ['roles  groups  names ']],
  [
    'somebody who is not an administrator',
    usual,
    { ...noMembers, names: ['user.ann'] },
    ['roles  groups  names user.ann'],
  ],
  [
    'an administrator: all of them, and the groups among them',
    usual,
    { ...noMembers, names: ['user.boss'] },
    [
      'roles  groups  names user.boss',
      'roles admin groups  names user.boss',
      'roles admin groups chiefs names user.boss',
    ],
  ],
  [
    'an administrator where no group is among them',
    { ...usual, roles: { admin: ['user.boss'] } },
    { ...noMembers, names: ['user.boss'] },
    ['roles  groups  names user.boss', 'roles admin groups  names user.boss'],
  ],
  [
    'the role itself, with another role and a group',
    usual,
    { roles: [parseRoleName('admin'), parseRoleName('reader')], groups: [parseGroupName('crew')], names: [] },
    [
      'roles admin,reader groups crew names ',
      'roles reader,admin groups crew names ',
      'roles reader,admin groups crew,chiefs names ',
    ],
  ],
  [
    'the role itself, with the only group that is in it',
    usual,
    { roles: [parseRoleName('admin')], groups: [parseGroupName('chiefs')], names: [] },
    ['roles admin groups chiefs names ', 'roles admin groups chiefs names '],
  ],
];
for (const [note, sketch, scope, expected] of cases) {
  test(`a change that touches ${note}`, async (t) => {
    const { reader, asked } = readerOf(sketch);
    const excerpt = await readForChange(reader, media, scope);
    t.deepEqual(asked, expected);
    t.is(excerpt === undefined, sketch === undefined);
    // More than the first look: the administrators are all there.
    const admins = excerpt?.content.roles.find(({ name }) => name === 'admin')?.members ?? [];
    if (asked.length > 1) t.is(admins.length, sketch?.roles?.['admin'] === usual.roles?.['admin'] ? 2 : 1);
  });
}
