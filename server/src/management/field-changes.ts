import { isEqual } from '../model/equal.ts';
import { type Fields, shapeOf, type Values, viewOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type {
  DomainFields,
  GroupFields,
  MemberRecord,
  PolicyRecord,
  RoleFields,
  ServiceRecord,
} from '../model/records.ts';

/* Changes of the fields of one object, as documents write them. Pure. */

/** Values of a field before and after; absent: the field was or is not there. Lists are JSON; a value of more than 1,024 characters is cut. */
export interface FieldChange {
  readonly field: string;
  readonly before?: string;
  readonly after?: string;
}

type Shown = Readonly<Record<string, unknown>>;

/** Shows the fields of a record: of a new one only what is not the default. */
type Show<Item> = (item: Item, isNew: boolean) => Shown;

/** Maximum length shown, that of a description. */
const maxShown = 1024;

/** The fields that differ; of a new object those that say something. */
export function fieldChanges<Item>(before: Item | undefined, after: Item, show: Show<Item>): readonly FieldChange[] {
  const [old, now] = [before === undefined ? {} : show(before, false), show(after, before === undefined)];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((field) => {
    const [from, to] = [old[field], now[field]];
    if (isEqual(from, to)) return [];
    return [{ field, ...(from !== undefined && { before: text(from) }), ...(to !== undefined && { after: text(to) }) }];
  });
}

function text(value: unknown): string {
  const all = typeof value === 'string' ? value : JSON.stringify(value);
  return all.length <= maxShown ? all : `${all.slice(0, maxShown)}…`;
}

const plainly =
  <F extends Fields>(fields: F): Show<Values<F>> =>
  (item, isNew) =>
    (isNew ? shapeOf : viewOf)(fields, item);

export const showRole: Show<RoleFields> = plainly(recordFields.role);
export const showGroup: Show<GroupFields> = plainly(recordFields.group);
export const showMember: Show<MemberRecord> = plainly(recordFields.member);

export const showDomain: Show<DomainFields> = (domain, isNew) => ({
  ...plainly(recordFields.domain)(domain, isNew),
  ...below('limits', shapeOf(recordFields.limits, domain.limits)),
  ...below('quotas', domain.quotas ?? {}),
  ...below('accounts', shapeOf(recordFields.accounts, domain.accounts)),
});

export const showPolicy: Show<PolicyRecord> = (policy, isNew) => ({
  ...plainly(recordFields.policy)(policy, isNew),
  ...(!(isNew && policy.active) && { active: policy.active }),
});

export const showService: Show<ServiceRecord> = (service, isNew) => ({
  ...plainly(recordFields.service)(service, isNew),
  ...(service.hosts.length > 0 && { hosts: service.hosts }),
  ...below(
    'publicKeys',
    Object.fromEntries(service.publicKeys.map(({ id, pem }) => [id, pem.replaceAll('\n', ' ').trim()])),
  ),
});

function below(section: string, fields: object): Shown {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${section}.${name}`, value]));
}
