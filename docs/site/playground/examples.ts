import type { PlaygroundState } from './state.ts';

/** A ready example to begin with. */
interface Example {
  readonly id: string;
  readonly title: string;
  readonly state: PlaygroundState;
}

const question = (principal: string, action: string, resource: string, context = '') => ({
  principal,
  action,
  resource,
  context,
});

/** In the order in which they are offered. */
export const examples: readonly Example[] = [
  {
    id: 'role',
    title: 'A role and its members',
    state: {
      documents: `domain: catalog
description: Movies, and who may see and change them

roles:
  reader: { members: [media.player, media.studio] }
  editor: { members: [media.studio] }

policies:
  movies:
    - { effect: allow, action: read, resource: movie, role: reader }
    - { effect: allow, action: write, resource: movie, role: editor }
`,
      tests: `- { note: a player shows movies, principal: media.player, action: read, resource: movie, expect: allow }
- { note: a player changes nothing, principal: media.player, action: write, resource: movie, expect: deny }
- { note: a studio edits movies, principal: media.studio, action: write, resource: movie, expect: allow }
`,
      question: question('media.player', 'write', 'movie'),
    },
  },
  {
    id: 'group',
    title: 'A group as a member of a role',
    state: {
      documents: `domain: catalog

groups:
  critics: { members: [user.jane, user.joe] }

roles:
  reviewer: { members: ["catalog:group.critics"] }

policies:
  reviews:
    - { effect: allow, action: write, resource: review, role: reviewer }
`,
      tests: `- { note: a critic writes reviews, principal: user.jane, action: write, resource: review, expect: allow }
- { note: others do not, principal: user.jim, unknown: true, action: write, resource: review, expect: deny }
`,
      question: question('user.jane', 'write', 'review'),
    },
  },
  {
    id: 'trust',
    title: 'Trust between two domains',
    state: {
      documents: `# The owner: who plays movies is said by the domain \`media\`.
domain: catalog

roles:
  player: { trust: media }

policies:
  movies:
    - { effect: allow, action: play, resource: movie, role: player }
---
# The partner: who of its own takes that role.
domain: media

roles:
  devices: { members: [media.tv] }

policies:
  lent:
    - { effect: allow, action: assume_role, resource: "catalog:role.player", role: devices }

services:
  tv: {}
  phone: {}
`,
      tests: `- { note: a device plays, principal: media.tv, action: play, resource: movie, expect: allow }
- { note: a phone does not, principal: media.phone, action: play, resource: movie, expect: deny }
`,
      question: question('media.tv', 'play', 'movie'),
    },
  },
  {
    id: 'condition',
    title: 'An assertion with a condition',
    state: {
      documents: `domain: catalog

roles:
  operator: { members: [sys.auth.operator] }

policies:
  upkeep:
    - effect: allow
      action: purge
      resource: cache
      role: operator
      conditions: [{ instances: "stage1,stage2" }]
`,
      tests: `- note: on a stage
  principal: sys.auth.operator
  action: purge
  resource: cache
  context: { instances: stage1 }
  expect: allow
- { note: not elsewhere, principal: sys.auth.operator, action: purge, resource: cache, expect: deny }
`,
      question: question('sys.auth.operator', 'purge', 'cache', 'instances=live1'),
    },
  },
  {
    id: 'deny',
    title: 'DENY wins',
    state: {
      documents: `domain: catalog

roles:
  reader: { members: ["media.*"] }
  guest: { members: [media.guest] }

policies:
  movies:
    - { effect: allow, action: read, resource: "movie.*", role: reader }
    - { effect: deny, action: read, resource: "movie.adult.*", role: guest }
`,
      tests: `- { note: guests see movies, principal: media.guest, action: read, resource: movie.family.1, expect: allow }
- { note: but not these, principal: media.guest, action: read, resource: movie.adult.1, expect: DENY }
- { note: players see all, principal: media.player, action: read, resource: movie.adult.1, expect: allow }
`,
      question: question('media.guest', 'read', 'movie.adult.1'),
    },
  },
  {
    id: 'wildcard',
    title: 'Wildcards in members, actions and resources',
    state: {
      documents: `domain: catalog

roles:
  reader: { members: ["media.play*"] }
  admin: { members: [user.jane] }

policies:
  movies:
    - { effect: allow, action: "read*", resource: "movie.*", role: reader }
  administration:
    - { effect: allow, action: "*", resource: "*", role: "adm*" }
`,
      tests: `- { note: every player reads, principal: media.player2, action: read_all, resource: movie.1, expect: allow }
- { note: nobody else does, principal: media.studio, action: read, resource: movie.1, expect: deny }
- { note: an administrator does anything, principal: user.jane, action: delete, resource: movie.1, expect: allow }
`,
      question: question('media.player2', 'read_all', 'movie.1'),
    },
  },
];
