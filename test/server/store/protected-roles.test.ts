import { parseDomainName, parseRoleName } from '@signet/policy-engine/names';
import type { StoreTransaction } from '@signet/server/model/store';
import { openStore } from '@signet/server/store/open';
import test from 'ava';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { storeKinds } from '#support/store-kinds';

const by = { actor: 'local:jane' };
const films = parseDomainName('films');

for (const kind of storeKinds) {
  test(`${kind.name}: the protected roles of a domain are those that need approvals`, async (t) => {
    const store = await openStore(await kind.place(t));
    t.teardown(() => store.close());
    const save = (name: string) => (change: StoreTransaction) => {
      const content = domainContent(name, { roles: { admin: ['user.jane'], editor: [], publisher: [] } });
      const roles = content.roles.map((role) => (role.name === 'publisher' ? { ...role, approvals: 2 } : role));
      return saveDomain(change, { ...content, approvals: 1, roles });
    };
    await store.change(by, save('films'));
    await store.change(by, save('media'));
    const protectedRoles = await store.view((reader) => reader.protectedRoles(films));
    t.deepEqual(protectedRoles, [{ name: parseRoleName('publisher'), approvals: 2 }]);
    t.is((await store.view((reader) => reader.attributes(films)))?.approvals, 1);
  });
}
