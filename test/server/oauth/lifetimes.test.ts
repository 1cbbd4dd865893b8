import { parseRoleName } from '@signet/policy-engine/names';
import { accessTokenLife } from '@signet/server/oauth/lifetimes';
import test from 'ava';

const bounds = { defaultExpirySeconds: 7200, maxExpirySeconds: 2_592_000 };

interface Case {
  readonly name: string;
  readonly asked?: number;
  readonly roles?: readonly (number | undefined)[];
  readonly domain?: number;
  readonly life: number;
}

const cases: readonly Case[] = [
  { name: 'nothing asked', life: 7200 },
  { name: 'less asked', asked: 60, life: 60 },
  { name: 'more than the default asked', asked: 86_400, life: 86_400 },
  { name: 'more than the ceiling asked', asked: 1e12, life: 2_592_000 },
  { name: 'a role is shorter', asked: 3600, roles: [undefined, 600, 900], life: 600 },
  { name: 'a role is longer', asked: 3600, roles: [86_400], life: 3600 },
  { name: 'the domain is shorter', asked: 3600, domain: 300, life: 300 },
  { name: 'the domain is shorter than the role', asked: 3600, roles: [600], domain: 300, life: 300 },
  { name: 'the role is shorter than the domain', asked: 3600, roles: [200], domain: 300, life: 200 },
  { name: 'a limit lowers the default too', domain: 300, life: 300 },
];

for (const { name, asked, roles = [], domain, life } of cases) {
  test(name, (t) => {
    const granted = roles.map((tokenExpirySeconds, at) => ({
      name: parseRoleName(`r${at}`),
      members: [],
      ...(tokenExpirySeconds !== undefined && { tokenExpirySeconds }),
    }));
    t.is(accessTokenLife(asked, bounds, granted, domain), life);
  });
}
