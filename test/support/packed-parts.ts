import { rowOf } from '@signet/server/model/fields';
import { memberColumns } from '@signet/server/model/packed-members';
import { recordFields } from '@signet/server/model/record-fields';
import type { DomainRecord, GroupRecord, ListKind, RoleRecord } from '@signet/server/model/records';
import type { PackedDomain, PackedMembers } from '@signet/server/model/snapshot-source';

/** Domains in one part, as a store shows them to whoever asks for everything. */
export async function* packedParts(domains: readonly DomainRecord[]): AsyncIterable<readonly PackedDomain[]> {
  yield domains.map((domain) => ({
    ...domain,
    members: [packed('role', domain.roles), packed('group', domain.groups)],
  }));
}

function packed(kind: ListKind, lists: readonly (RoleRecord | GroupRecord)[]): PackedMembers {
  const others = lists.flatMap((list) =>
    list.members.map((member) => {
      const row = rowOf(recordFields.member, member);
      return [list.name, member.name, ...memberColumns.map((column) => row[column])];
    }),
  );
  return { kind, count: others.length, names: '[]', lists: '[]', others: JSON.stringify(others) };
}
