import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyEngine } from '@signet/policy-engine';
import type { JwkList } from '@signet/policy-engine/wire';
import test from 'ava';
import { assertWithin, costOf, costsAreKnown, slowness } from '#support/cost';
import { install, serve } from '#support/signet-program';

/* Conditions that are written to widen access, or to cost as much as can be, against a real server and an engine that reads its bundles. */

const onLinux = costsAreKnown ? test : test.skip;
const json = (method: string, body: unknown) => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const domains = [
  { name: 'sys.auth', roles: { admin: ['big.boss'] }, policies: { operators: [['ALLOW', 'admin', '*', '*']] } },
  { name: 'big', roles: { admin: ['big.boss'], reader: ['big.boss'] }, services: { boss: {} } },
] as const;
const policy = '^/management/v1/domains/big/policies/p';
const rule = (instances: unknown, more: object = {}) => ({
  action: 'read',
  resource: 'thing',
  role: 'reader',
  conditions: [{ instances }],
  ...more,
});

onLinux(
  'conditions that widen access are refused, those that stand never do, and none costs more than a decision may',
  async (t) => {
    t.timeout(300_000);
    const world = await install(t, { domains });
    const serving = await serve(t, world);
    const boss = serving.as({ ...(await world.pki.identity('big.boss')) });

    const refused = [
      { operator: 'IN_CIDR', value: '10.0.0.1/8' },
      { operator: 'IN_CIDR', value: '1.2.3.4/33' },
      { operator: 'IN_CIDR', value: '1.2.3.4/08' },
      { operator: 'IN_CIDR', value: '0x0a.0.0.0/8' },
      { operator: 'IN_CIDR', value: 'fe80::%eth0/64' },
      { operator: 'IN_CIDR', value: '::ffff:10.0.0.0/104' },
      { operator: 'IN_CIDR', value: '10.0.0.0/8, 11.0.0.0/8' },
      { operator: 'STARTS_WITH', value: '' },
      { operator: 'STARTS_WITH', value: '*' },
      { operator: 'NOT_EQUALS', value: '*' },
      { operator: 'SOUNDS_LIKE', value: 'a' },
      { operator: '__proto__', value: 'a' },
      { operator: 'IN_CIDR', value: `10.0.0.0/8,${'1'.repeat(1024)}` },
      { operator: 'IN_CIDR', value: ['10.0.0.0/8'] },
    ];
    for (const condition of refused) {
      const answer = await boss(policy, json('PUT', [rule(condition)]));
      t.is(answer.status, 400, JSON.stringify(condition));
      t.regex(answer.text, /conditions\[0\]\.instances/);
    }

    const decide = async (rules: readonly object[]) => {
      const put = await boss(policy, json('PUT', rules));
      t.true(put.status < 300, put.text);
      const policyDir = join(world.folder, 'policies');
      mkdirSync(policyDir, { recursive: true });
      writeFileSync(join(policyDir, 'big.pol'), (await boss('/domain/big/policy/signed')).text);
      const keys = (await boss('/oauth2/keys?rfc=true')).body as JwkList;
      const engine = await PolicyEngine.open({ policyDir, keys, issuers: [serving.baseUrl] });
      t.teardown(() => engine.close());
      return (instances?: string) => {
        const context = instances === undefined ? {} : { context: { instances } };
        return engine.decideRoles({ domain: 'big', roles: ['reader'], action: 'read', resource: 'thing', ...context })
          .status;
      };
    };
    const odd = [
      undefined,
      '',
      '10.1.2.3 ',
      '10.01.2.3',
      '10.1.2.3%eth0',
      '::ffff:10.1.2.3%eth0',
      '10.1.2.3/8',
      '[::]',
    ];
    const within = { operator: 'IN_CIDR', value: '10.0.0.0/8,2001:db8::/32' };
    const allowed = await decide([rule(within)]);
    t.deepEqual(['10.1.2.3', '::ffff:10.1.2.3', '2001:DB8:0::1', '11.0.0.1', '::10.1.2.3', ...odd].map(allowed), [
      'ALLOW',
      'ALLOW',
      'ALLOW',
      'DENY_NO_MATCH',
      'DENY_NO_MATCH',
      ...odd.map(() => 'DENY_NO_MATCH'),
    ]);
    const everywhere = { action: 'read', resource: 'thing', role: 'reader' };
    const denied = await decide([everywhere, rule(within, { effect: 'deny' })]);
    t.deepEqual(['10.1.2.3', '::ffff:10.1.2.3', '::FFFF:0a01:203', '11.0.0.1', ...odd].map(denied), [
      'DENY',
      'DENY',
      'DENY',
      'ALLOW',
      ...odd.map(() => 'DENY'),
    ]);
    const others = await decide([rule({ operator: 'NOT_EQUALS', value: 'h1' })]);
    t.deepEqual(['h2', 'H1', undefined].map(others), ['ALLOW', 'DENY_NO_MATCH', 'DENY_NO_MATCH']);

    // As many networks as a rule may have, in as many rules as a body may hold, none of which fits.
    const networks = Array.from({ length: 64 }, (_, set) => ({
      instances: {
        operator: 'IN_CIDR',
        value: Array.from({ length: 80 }, (_, at) => `10.${set}.${at}.0/24`)
          .join()
          .slice(0, 1024)
          .replace(/,[^,]*$/, ''),
      },
    }));
    const heavy = await decide(Array.from({ length: 12 }, () => ({ ...rule(''), conditions: networks })));
    const decisions = 200;
    const began = process.cpuUsage();
    const statuses = new Set(Array.from({ length: decisions }, () => heavy('192.0.2.1')));
    const { user, system } = process.cpuUsage(began);
    t.deepEqual([...statuses], ['DENY_BUDGET_EXCEEDED']);
    const perDecision = (user + system) / 1000 / decisions / slowness();
    assertWithin(t, 'a decision over 56,000 networks', perDecision, 10, 'ms of processor time');

    // The impact of conditions on everything: bounded by its classes, and told to be so.
    const before = costOf(serving.pid);
    const dryRun = await boss(
      `${policy}?dryRun=true`,
      json(
        'PUT',
        Array.from({ length: 12 }, () => ({ ...rule(''), conditions: networks })),
      ),
    );
    t.is(dryRun.status, 200, dryRun.text);
    const spent = (costOf(serving.pid).processorMs - before.processorMs) / slowness();
    assertWithin(t, 'a dry run of 56,000 networks', spent, 3000, 'ms of processor time of the server');
    t.is((dryRun.body as { impact: unknown }).impact, null);
  },
);
