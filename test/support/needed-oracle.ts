import type { AssertionRecord, DomainContent, PolicyRecord } from '@signet/server/model/records';

/*
 * Approvals that a change needs, by the sentences of the contract over whole records, before and after: slow, and without anything of the server.
 *
 * 1. Every change of a domain needs the approvals of the domain before it.
 * 2. A change needs the approvals of each role of the domain that it touches: fields or members differ, or a group of the domain that it lists, or
 *    an active assertion `assume_role` that may match it; or a role differs whose members may assume it.
 * 3. `apply_reviewed` and `break_glass`, given without wildcards and conditions on the domain, pass by all of these: a change of who holds them needs the
 *    most approvals of the domain and its roles; in the domain itself, by an assertion or a role,
 * 4. and in any domain by a service that differs, or whose launching does, where a role that holds them lists it: by name, wildcard or group, directly or
 *    by an assumed role, also one that trusts the domain of the list.
 */

type Domains = ReadonlyMap<string, DomainContent>;

export function neededOracle(stored: Domains, name: string, after: DomainContent): number {
  const before = stored.get(name);
  if (before !== undefined && text(plain(before)) === text(plain(after))) return 0;
  const entries = concernedEntries(stored, name, before, after);
  const groups = [...stored.values()].flatMap((domain) =>
    domain.groups
      .filter((group) => group.members.some((member) => entries.has(member.name)))
      .map((group) => `${domain.name}:group.${group.name}`),
  );
  const listed = new Set([...entries, ...groups]);
  const opened = [...stored.values()].filter((domain) => isOpened(stored, domain, listed)).map(guardOf);
  return Math.max(0, ...opened, ...(before === undefined ? [] : ownNumbers(before, after)));
}

/** Numbers that the domain itself asks for. */
function ownNumbers(before: DomainContent, after: DomainContent): readonly number[] {
  const { name } = before;
  const touched = touchedRoles(before, after);
  const grants = reviewed(name, active(before.policies));
  const names = [...before.roles, ...after.roles].map((role) => String(role.name));
  const enters = names.some((role) => touched(role) && grants.some((one) => isAbout(one, name, role)));
  const grows = differing(before, after, (all) => reviewed(name, all)).length > 0;
  const ofRoles = before.roles.filter((role) => touched(role.name)).map((role) => role.approvals ?? 0);
  return [before.approvals ?? 0, ...ofRoles, ...(enters || grows ? [guardOf(before)] : [])];
}

const guardOf = ({ approvals, roles }: DomainContent) =>
  Math.max(approvals ?? 0, ...roles.map((role) => role.approvals ?? 0));

function isOpened(stored: Domains, domain: DomainContent, listed: ReadonlySet<string>): boolean {
  const grants = reviewed(domain.name, active(domain.policies));
  const holding = domain.roles.filter((role) => grants.some((one) => isAbout(one, domain.name, role.name)));
  return [...stored.values()].some((lending) => {
    const listing = lending.roles.filter((role) => role.members.some((member) => listed.has(member.name)));
    if (lending === domain && listing.some((role) => holding.includes(role))) return true;
    if (lending !== domain && !domain.roles.some((role) => role.trust === lending.name)) return false;
    return assumptions(active(lending.policies)).some(
      (one) =>
        listing.some((role) => isAbout(one, lending.name, role.name)) &&
        holding.some((role) => fits(one.resource, `${domain.name}:role.${role.name}`)),
    );
  });
}

/** Entries of any list that mean a service whose record, or whose launching, differs. */
function concernedEntries(
  stored: Domains,
  name: string,
  before: DomainContent | undefined,
  after: DomainContent,
): Set<string> {
  const services = [
    ...new Set([...(before?.services ?? []), ...after.services].map((service) => String(service.name))),
  ];
  const recordOf = (content: DomainContent | undefined, service: string) =>
    text(content?.services.find((one) => one.name === service));
  const changed = services.filter((service) => recordOf(before, service) !== recordOf(after, service));
  const launching = differing(before, after, (all) =>
    all.filter(({ action, resource }) => (fits(action, 'launch') || fits(action, 'update')) && mayBeService(resource)),
  );
  const launched = (service: string) =>
    launching.some(({ resource }) => fits(resource, `${name}:service`) || fits(resource, `${name}:service.${service}`));
  const concerns = (entry: string) => {
    const own = `${name}.`;
    if (!entry.endsWith('*')) {
      const service = entry.startsWith(own) ? entry.slice(own.length) : '';
      return changed.includes(service) || (/^[^.:]+$/.test(service) && launched(service));
    }
    const prefix = entry.slice(0, -1);
    if (changed.some((service) => (own + service).startsWith(prefix))) return true;
    return (
      launching.length > 0 &&
      (own.startsWith(prefix) || (prefix.startsWith(own) && !/[.:]/.test(prefix.slice(own.length))))
    );
  };
  const all = [...stored.values()].flatMap(({ roles, groups }) =>
    [...roles, ...groups].flatMap(({ members }) => members),
  );
  return new Set(all.map((member) => member.name).filter(concerns));
}

/** True if a resource may be a service, as far as the text before its first wildcard tells. */
function mayBeService(resource: string): boolean {
  const entity = resource.slice(resource.indexOf(':') + 1).toLowerCase();
  const [start = ''] = entity.split(/[*?]/, 1);
  if (start === entity) return entity === 'service' || entity.startsWith('service.');
  return start.startsWith('service') || 'service'.startsWith(start);
}

/** Predicate for the roles that a change touches. */
function touchedRoles(before: DomainContent, after: DomainContent): (role: string) => boolean {
  const { name } = before;
  const differs = (kind: 'roles' | 'groups', list: string) => {
    const find = (content: DomainContent) => plain(content)[kind].find((one) => one.name === list);
    return text(find(before)) !== text(find(after));
  };
  const groups = [...before.groups, ...after.groups]
    .map((group) => String(group.name))
    .filter((group) => differs('groups', group));
  const changes = (role: string) =>
    differs('roles', role) ||
    (before.roles.find((one) => one.name === role)?.members ?? []).some((member) =>
      groups.some((group) => member.name === `${name}:group.${group}`),
    );
  const changed = [...before.roles, ...after.roles].map((role) => String(role.name)).filter(changes);
  const assumed = differing(before, after, assumptions);
  const standing = assumptions(active(before.policies)).filter((one) =>
    changed.some((role) => isAbout(one, name, role)),
  );
  return (role) =>
    changed.includes(role) || [...assumed, ...standing].some((one) => fits(one.resource, `${name}:role.${role}`));
}

/** The selected active assertions that are in differing policies of one side alone. */
function differing(
  before: DomainContent | undefined,
  after: DomainContent,
  select: (all: readonly AssertionRecord[]) => readonly AssertionRecord[],
): readonly AssertionRecord[] {
  const sides = [before, after].map(
    (content) => new Map(content?.policies.map((one) => [`${one.name} ${one.version}`, one])),
  );
  const [was = new Map(), is = new Map()] = sides;
  const own = (side: ReadonlyMap<string, PolicyRecord>, other: ReadonlyMap<string, PolicyRecord>) =>
    select(
      active(
        [...side]
          .filter(
            ([key, one]) =>
              text(policy(one)) !== text(other.has(key) ? policy(other.get(key) as PolicyRecord) : undefined),
          )
          .map(([, one]) => one),
      ),
    );
  const [left, right] = [own(was, is), own(is, was)];
  const keys = (all: readonly AssertionRecord[]) => new Set(all.map(keyOf));
  const [lefts, rights] = [keys(left), keys(right)];
  return [...left.filter((one) => !rights.has(keyOf(one))), ...right.filter((one) => !lefts.has(keyOf(one)))];
}

const keyOf = ({ effect, role, action, resource, conditions }: AssertionRecord) =>
  text([effect, role.toLowerCase(), action.toLowerCase(), resource.toLowerCase(), conditions ?? null]);

const active = (policies: readonly PolicyRecord[]) =>
  policies.filter((one) => one.active).flatMap((one) => one.assertions);

const assumptions = (all: readonly AssertionRecord[]) => all.filter(({ action }) => fits(action, 'assume_role'));

const reviewed = (domain: string, all: readonly AssertionRecord[]) =>
  all.filter(
    ({ effect, action, resource, conditions }) =>
      effect === 'ALLOW' &&
      conditions === undefined &&
      ['apply_reviewed', 'break_glass'].includes(action.toLowerCase()) &&
      resource.toLowerCase() === `${domain}:domain`,
  );

const isAbout = ({ role }: AssertionRecord, domain: string, name: string) => fits(role, `${domain}:role.${name}`);

function fits(pattern: string, whole: string): boolean {
  const source = [...pattern.toLowerCase()]
    .map((one) => (one === '*' ? '.*' : one === '?' ? '.' : one.replace(/[\\^$.|+()[\]{}]/g, '\\$&')))
    .join('');
  return new RegExp(`^${source}$`).test(whole);
}

const policy = ({ name, version, active, description, caseSensitive, assertions }: PolicyRecord) => ({
  name,
  version,
  active,
  description,
  caseSensitive,
  assertions: assertions.map(({ effect, role, action, resource, caseSensitive, conditions }) => ({
    effect,
    role,
    action,
    resource,
    caseSensitive,
    conditions,
  })),
});

/** Content alone, in an order of its own. */
function plain(content: DomainContent) {
  const { name, enabled, requireReason, description, approvals, roles, groups, policies, services } = content;
  const sorted = <One>(list: readonly One[], key: (one: One) => string) =>
    [...list].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const listed = <List extends { readonly name: string; readonly members: readonly { readonly name: string }[] }>(
    lists: readonly List[],
  ) =>
    sorted(lists, (list) => list.name).map((list) => ({
      ...list,
      members: sorted(list.members, (member) => member.name),
    }));
  return {
    ...{ name, enabled, requireReason, description, approvals },
    roles: listed(roles),
    groups: listed(groups),
    policies: sorted(policies, (one) => `${one.name} ${one.version}`).map(policy),
    services: sorted(services, (service) => service.name),
  };
}

/** JSON whose members are in one order. */
function text(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  );
}
