/** Distribution of the assertions over the roles. */
export const layouts = ['many roles', 'one role'] as const;
export type Layout = (typeof layouts)[number];

/** Field of the assertions that holds wildcards. */
export const kinds = ['exact', 'prefix', 'inner', 'action prefix', 'role pattern', 'mixed'] as const;
export type Kind = (typeof kinds)[number];

/** Requests of a round. */
export const mixes = ['hit, 1 role', 'miss, 1 role', 'hit, 50 roles', 'miss, 50 roles'] as const;
export type Mix = (typeof mixes)[number];

/** Assertion; `role` is a short name, `resource` has its domain. */
export interface Rule {
  readonly effect: 'ALLOW' | 'DENY';
  readonly role: string;
  readonly action: string;
  readonly resource: string;
}

export interface Question {
  readonly roles: readonly string[];
  readonly action: string;
  readonly resource: string;
  /** The resource without its domain. */
  readonly entity: string;
  /** The right answer, known from how the question was made. */
  readonly allowed: boolean;
}

export interface WorkloadPlan {
  readonly size: number;
  readonly layout: Layout;
  readonly kind: Kind;
}

export interface Workload {
  readonly rules: readonly Rule[];
  readonly questions: ReadonlyMap<Mix, readonly Question[]>;
}

export const domain = 'catalog';
const actions = ['read', 'write', 'list', 'delete'];
const questionsPerMix = 1024;
const assertionsPerRole = 10;
const fewestRoles = 10;

/** Rules and questions of one plan, the same at every call. One rule in twenty is a DENY; no two rules fit one request. */
export function createWorkload(plan: WorkloadPlan): Workload {
  const random = createRandom(plan.size);
  const roles = plan.layout === 'one role' ? 1 : Math.max(fewestRoles, Math.floor(plan.size / assertionsPerRole));
  const rules = Array.from({ length: plan.size }, (_, index) => ruleOf(plan.kind, index, roles));
  const questions = new Map<Mix, readonly Question[]>();
  for (const mix of mixes) {
    const made = Array.from({ length: questionsPerMix }, () => questionOf(plan, mix, roles, random));
    // Strings as they come from a token and a request: flat, and not the objects that the rules hold.
    questions.set(mix, decodeQuestions(JSON.stringify(made)));
  }
  return { rules, questions };
}

function decodeQuestions(text: string): readonly Question[] {
  const questions: readonly Question[] = JSON.parse(text);
  return questions;
}

/** A small linear congruential generator, so that every engine sees the same requests. */
function createRandom(seed: number): (below: number) => number {
  let state = seed + 12_345;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Kind of wildcard of one rule: a mixed policy has a tenth of each kind, and exact names for the rest. */
function kindAt(kind: Kind, index: number): Kind {
  if (kind !== 'mixed') return kind;
  return kinds.slice(1, -1)[index % 10] ?? 'exact';
}

function ruleOf(policyKind: Kind, index: number, roles: number): Rule {
  const kind = kindAt(policyKind, index);
  return {
    effect: isDeny(index) ? 'DENY' : 'ALLOW',
    role: kind === 'role pattern' ? `team.${index % roles}.*` : `duty.${index % roles}`,
    action: kind === 'action prefix' ? `op.${index}.*` : actionOf(index),
    resource: `${domain}:${resourcePattern(kind, index)}`,
  };
}

/** Actions and effects are scattered, so that the rules of one role have all of them. */
function scattered(index: number, below: number): number {
  return Math.floor(((Math.imul(index + 1, 2_654_435_761) >>> 0) / 2 ** 32) * below);
}

function isDeny(index: number): boolean {
  return scattered(index, 20) === 19;
}

function actionOf(index: number): string {
  return actions[scattered(index, actions.length)] ?? '';
}

function resourcePattern(kind: Kind, index: number): string {
  if (kind === 'prefix') return `item.${index}.*`;
  if (kind === 'inner') return index % 2 === 0 ? `shop*.item.${index}` : `shop.*.item.${index}.*.view`;
  if (kind === 'action prefix') return `item.${index % 10}`;
  return `item.${index}`;
}

/** A resource that the pattern of rule `index` matches and no other. */
function matchingResource(kind: Kind, index: number, part: number): string {
  if (kind === 'prefix') return `item.${index}.part${part}`;
  if (kind === 'inner') return index % 2 === 0 ? `shop${part}.item.${index}` : `shop.${part}.item.${index}.x.view`;
  return resourcePattern(kind, index);
}

function questionOf(
  { size, kind }: WorkloadPlan,
  mix: Mix,
  roles: number,
  random: (below: number) => number,
): Question {
  const hit = mix.startsWith('hit');
  const index = random(size);
  const part = random(100);
  const roleName = (role: number): string =>
    kindAt(kind, index) === 'role pattern' ? `team.${role}.x${part}` : `duty.${role}`;
  const asked = hit ? index : missedIndex(index, size, random);
  const askedKind = kindAt(kind, asked);
  const action = askedKind === 'action prefix' ? `op.${asked}.x${part}` : actionOf(asked);
  const entity = askedKind === 'action prefix' ? `item.${asked % 10}` : matchingResource(askedKind, asked, part);
  return {
    roles: mix.endsWith('50 roles') ? fiftyRoles(index % roles, roles, roleName, random) : [roleName(index % roles)],
    action,
    resource: `${domain}:${entity}`,
    entity,
    allowed: hit && !isDeny(index),
  };
}

/** Beyond the last rule: looks like a rule's subject and is none. */
function missedIndex(index: number, size: number, random: (below: number) => number): number {
  return size + index + random(size);
}

/** The role that the question is about at some place among others of the same policy, filled up with roles that it does not name. */
function fiftyRoles(
  role: number,
  roles: number,
  roleName: (role: number) => string,
  random: (below: number) => number,
): readonly string[] {
  const chosen = new Set<string>();
  for (let other = 0; other < 49; other++) {
    chosen.add(roles > 100 ? roleName((role + 1 + other * 2 + random(2)) % roles) : `other.${other}`);
  }
  chosen.delete(roleName(role));
  const list = [...chosen];
  list.splice(random(list.length), 0, roleName(role));
  return list;
}
