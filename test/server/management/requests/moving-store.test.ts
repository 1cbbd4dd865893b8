import { join } from 'node:path';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { ServiceUnavailableError } from '@signet/server/errors';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { parseFolder } from '@signet/server/management/documents/read-folder';
import { askFor } from '@signet/server/management/requests/ask-for';
import { approveRequest, seeRequest } from '@signet/server/management/requests/decide';
import type { Store } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const now = 1_767_225_600_000;
const [ann, bob] = [parsePrincipalName('user.ann'), parsePrincipalName('user.bob')];
const context = { actor: 'test' };
const quotas = { roles: 100, members: 100, groups: 100, policies: 100, assertions: 100, services: 100, keys: 100 };

const films = `domain: films
approvals: 1
roles:
  admin: { members: [user.ann, user.bob] }
  reader: { members: ["media:group.team"] }
policies: { films: [{ action: read, resource: film, role: reader }] }
`;
const media = (description: string) =>
  parseFolder([
    {
      file: 'media.yaml',
      text: `domain: media\napprovals: 1\ndescription: ${description}\ngroups: { team: { members: [user.eve] } }\nroles: { admin: { members: [user.ann, user.bob] } }\n`,
    },
  ]);

test('a request and an approval begin again three times when what they read changes without another effect', async (t) => {
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  const apply = (folder: ReturnType<typeof media>) => applyDocuments(store, folder, context, { now, breakGlass: true });
  await apply(media('first'));
  await apply(parseFolder([{ file: 'films.yaml', text: films }]));
  let left = 0;
  let tries = 0;
  /** The store, in which `media` changes before a transaction has its turn. */
  const restless: Store = Object.create(store, {
    change: {
      value: async (...args: Parameters<Store['change']>) => {
        tries += 1;
        left -= 1;
        if (left >= 0) await apply(media(`text ${tries}`));
        return await store.change(...args);
      },
    },
    view: { value: (...args: Parameters<Store['view']>) => store.view(...args) },
  });
  const asking = { author: { caller: ann }, context: { actor: ann }, now, quotas };
  const content = {
    kind: 'edit',
    operation: 'PutRoleMember',
    params: { domainName: 'films', name: 'reader', member: 'media.player' },
    flags: [],
    body: {},
  } as const;
  const ask = () => askFor(restless, asking, { mode: 'request', content, requestMs: 3_600_000 });
  left = 3;
  await t.throwsAsync(ask(), { instanceOf: ServiceUnavailableError });
  t.is(tries, 3);
  left = 2;
  const asked = await ask();
  if (asked.kind !== 'stored') return t.fail();
  t.deepEqual(asked.request.domains, [parseDomainName('films')]);
  const { id } = asked.request;
  const deciding = {
    caller: bob,
    certificate: { serial: '01' },
    context: { actor: bob },
    now,
    quotas,
    issuedByOperators: true,
  };
  const { plan } = await seeRequest(store, id, deciding, true);
  const approve = () => approveRequest(restless, id, deciding, { ...(plan !== undefined && { plan: plan.digest }) });
  [left, tries] = [3, 0];
  await t.throwsAsync(approve(), { instanceOf: ServiceUnavailableError });
  t.is(tries, 3);
  left = 2;
  t.is((await approve()).state, 'applied');
});
