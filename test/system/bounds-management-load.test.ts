import { issuerFromPem } from '@signet/server/x509/issuer-files';
import test from 'ava';
import Database from 'better-sqlite3';
import { costsAreKnown } from '#support/cost';
import { send } from '#support/management-world';
import { measuredServer } from '#support/request-loop';
import type { Installation } from '#support/signet-program';

/*
 * Load of the management API while another caller gets tokens: the longest hold of the request loop, in processor time of its thread, so that a
 * busy machine does not count. Changes are in `bounds-management-changes.test.ts`.
 */

const minutes = 60_000;
const members = 100_000;
const dueReviews = 20_000;
const rules = 20_000;
const revoked = 100_000;

const onLinux = costsAreKnown ? test : test.skip;
const named = (index: number) => `user.member${String(index).padStart(6, '0')}`;

/** Puts certificates into the store that were revoked, as if its issuer had given them. */
function revokeMany({ pki: { issuer }, storeFile }: Installation): void {
  const { id } = issuerFromPem(issuer.certificate, issuer.key);
  const database = new Database(storeFile);
  const insert = database.prepare(
    `insert into certificates
     (serial, issuer, kind, state, subject, holder, intended_at, not_before, not_after,
      revoked_at, revocation_reason, revoked_by, revocation_sequence)
     values (?, ?, 'role', 'issued', 'catalog:role.reader', 'media.player', 0, 0, 4000000000, 1700000000, 'superseded', 'x', ?)`,
  );
  database.transaction(() => {
    for (let index = 1; index <= revoked; index += 1)
      insert.run((2 ** 32 + index).toString(16).padStart(32, '0'), id, index);
  })();
  database.close();
}

/** Nine aliases in each of nine levels. */
const aliasBomb = [...'abcdefghi']
  .map(
    (name, level) =>
      `${name}: &${name} [${Array(9)
        .fill(level === 0 ? 'x' : `*${'abcdefghi'[level - 1]}`)
        .join(', ')}]`,
  )
  .join('\n');

onLinux('no management request that reads holds up the tokens of the others', async (t) => {
  t.timeout(10 * minutes);
  const crowd = Array.from({ length: members }, (_, index) =>
    index < dueReviews ? { name: named(index), disabled: false, review: 1000 + index } : named(index),
  );
  const domains = [
    { name: 'sys.auth', roles: { admin: ['big.boss'] }, policies: { operators: [['ALLOW', 'admin', '*', '*']] } },
    {
      name: 'big',
      roles: { admin: ['big.boss'], crowd: { members: crowd }, small: [], lookers: ['media.player'] },
      services: { boss: {} },
      policies: {
        rules: Array.from({ length: rules }, (_, index) => ['ALLOW', 'small', 'read', `item${index}`] as const),
        looking: [['ALLOW', 'lookers', 'view_domain', 'domain']],
      },
    },
  ] as const;
  const { as, measure, assertShort } = await measuredServer(t, domains, revokeMany);
  const [boss, player] = [await as('big.boss'), await as('media.player')];
  const domain = '^/management/v1/domains/big';
  const get = (path: string) => () => boss(path);

  await measure('token alone', () => player('/oauth2/keys'));
  await measure('list: domains', get('^/management/v1/domains?limit=1000'));
  await measure('domain', get(domain));
  await measure('roles', get(`${domain}/roles?limit=1000`));
  const role = await measure('role of 100,000', get(`${domain}/roles/crowd`));
  t.is(Buffer.byteLength(role.text), Number(role.headers['content-length']));
  await measure('members, a page', get(`${domain}/roles/crowd/members?limit=1000`));
  await measure('policy of 20,000', get(`${domain}/policies/rules`));
  await measure('bundle of 20,000 rules', () => player('/domain/big/policy/signed'));
  const { text } = await measure('revocation list of 100,000', () => player('/crl?format=pem'));
  t.true(text.length > revoked * 50, `${text.length}`);
  await measure('search by action', get('^/management/v1/search?action=read&limit=1000'));
  await measure('search by member', get(`^/management/v1/search?member=${named(5)}&limit=1000`));
  await measure('reviews', get('^/management/v1/reviews?limit=1000'));
  await measure('changes', get('^/management/v1/changes?limit=1000'));
  await measure('changes of the domain', get(`${domain}/changes?limit=1000`));
  await measure('changes of the domain for who may not see its roles', () => player(`${domain}/changes?limit=1000`));
  await measure('changes of the policy', get(`${domain}/policies/rules/changes?limit=1000`));
  await measure(
    'explanation',
    get('^/management/v1/explanation?principal=media.player&action=read&resource=big:item7'),
  );
  await measure('grantees, a page', get('^/management/v1/grantees?action=read&resource=big:item7&limit=1000'));
  const plan = (text: string) => () =>
    boss('^/management/v1/plan', send('POST', { files: [{ name: 'big.yaml', text }] }));
  const comment = `#${'x'.repeat(1_000_000)}`;
  const keys = Array.from({ length: 80_000 }, (_, index) => `key${index}: 1`).join('\n');
  for (const text of [comment, keys, '['.repeat(10_000), aliasBomb]) {
    await measure(`plan of ${JSON.stringify(text.slice(0, 8))}`, plan(text), 400);
  }
  await measure('plan of the domain', plan('domain: big\nroles: { admin: { members: [big.boss] } }\n'));
  await measure('changes of the role', get(`${domain}/roles/crowd/changes?limit=1000`));
  assertShort();
});
