import { parseRoleName } from '@signet/policy-engine/names';
import { accessTokenLife } from '@signet/server/oauth/lifetimes';
import test from 'ava';

const bounds = { defaultExpirySeconds: 3600, maxExpirySeconds: 7200, longestExpirySeconds: 2_592_000 };
const day = 86_400;

interface Case {
  readonly name: string;
  readonly asked?: number;
  readonly roles?: readonly (number | undefined)[];
  readonly domain?: number;
  readonly life: number;
}

const cases: readonly Case[] = [
  { name: 'nothing asked', life: 3600 },
  { name: 'nothing asked, whatever a limit allows', roles: [day], domain: day, life: 3600 },
  { name: 'less asked', asked: 60, life: 60 },
  { name: 'more than the default asked', asked: 7199, roles: [undefined], life: 7199 },
  { name: 'exactly the ceiling asked', asked: 7200, roles: [undefined], life: 7200 },
  { name: 'one second over the ceiling asked', asked: 7201, roles: [undefined], life: 7200 },
  { name: 'over the ceiling, without a role', asked: 7201, life: 7200 },
  { name: 'over the ceiling, as the domain allows', asked: 8000, roles: [undefined], domain: day, life: 8000 },
  { name: 'over the ceiling, as the role allows', asked: 8000, roles: [day], life: 8000 },
  { name: 'over the ceiling, as one of two roles allows', asked: 8000, roles: [day, undefined], life: 7200 },
  {
    name: 'over the ceiling, as the domain and one role allow',
    asked: 8000,
    roles: [7500, undefined],
    domain: day,
    life: 7500,
  },
  { name: 'over what the domain allows', asked: 8000, roles: [undefined], domain: 7999, life: 7999 },
  { name: 'over what the domain allows, as the role does', asked: 8000, roles: [day], domain: 7999, life: 7999 },
  {
    name: 'exactly thirty days, as domain and role allow',
    asked: 30 * day,
    roles: [30 * day],
    domain: 30 * day,
    life: 30 * day,
  },
  {
    name: 'over thirty days, as the domain allows',
    asked: 30 * day + 1,
    roles: [undefined],
    domain: 60 * day,
    life: 30 * day,
  },
  { name: 'over thirty days, as the role allows', asked: 30 * day + 1, roles: [60 * day], life: 30 * day },
  { name: 'more than fits any date', asked: 1e12, roles: [60 * day], domain: 60 * day, life: 30 * day },
  { name: 'a role is shorter', asked: 3600, roles: [undefined, 600, 900], life: 600 },
  { name: 'a role is longer', asked: 3600, roles: [day], life: 3600 },
  { name: 'the domain is shorter', asked: 3600, roles: [undefined], domain: 300, life: 300 },
  { name: 'the domain is longer', asked: 60, roles: [undefined], domain: 300, life: 60 },
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

test('a ceiling that is configured holds whatever limits say', (t) => {
  const fixed = { defaultExpirySeconds: 60, maxExpirySeconds: 600, longestExpirySeconds: 600 };
  const role = { name: parseRoleName('r'), members: [], tokenExpirySeconds: day };
  t.is(accessTokenLife(601, fixed, [role], day), 600);
  t.is(accessTokenLife(600, fixed, [role], day), 600);
});
