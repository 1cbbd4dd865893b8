import { type DomainName, parseDomainName, parseRoleName } from '@signet/policy-engine/names';
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

  test(`${kind.name}: protected domains are those in which some change needs approvals`, async (t) => {
    const store = await openStore(await kind.place(t));
    t.teardown(() => store.close());
    const [own, byRole, both, neither] = ['own', 'by-role', 'both', 'neither'].map((name) => parseDomainName(name));
    const save = async (name: DomainName | undefined, domain: number | undefined, role: number | undefined) => {
      const content = domainContent(name ?? '', { roles: { admin: ['user.jane'], publisher: [] } });
      const roles = content.roles.map((one) => ({ ...one, ...(role !== undefined && { approvals: role }) }));
      const own = domain === undefined ? {} : { approvals: domain };
      await store.change(by, (change) => saveDomain(change, { ...content, ...own, roles }));
    };
    await save(own, 1, undefined);
    await save(byRole, undefined, 2);
    await save(both, 3, 1);
    await save(neither, undefined, undefined);
    const names = [own, byRole, neither, both].flatMap((name) => name ?? []);
    const found = await store.view((reader) => reader.protectedAmong(names));
    t.deepEqual(Object.fromEntries(found), { own: 1, 'by-role': 2, both: 3 });
    t.is((await store.view((reader) => reader.protectedAmong([]))).size, 0);
  });
}
